"""How the store's SQLite file is opened, and the lock that serialises migrations."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

BUSY_TIMEOUT_S = 10.0
"""How long a connection waits for another process's write before SQLite says `database is locked`."""


@contextlib.contextmanager
def connect(database: Path, *, read_only: bool = False) -> Iterator[sqlite3.Connection]:
    """Yield a connection to `database` and close it afterwards; WAL keeps readers off the writer's way."""
    connection = open_connection(database, read_only=read_only)
    try:
        yield connection
    finally:
        connection.close()


def open_connection(database: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open `database`. A read-only connection creates nothing and raises when the file is absent."""
    mode = "ro" if read_only else "rwc"
    # as_uri percent-encodes what SQLite's URI syntax would read as a query.
    connection = sqlite3.connect(
        f"{database.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    if not read_only:
        # WAL with NORMAL survives a killed process; only a power cut can lose the last commits.
        connection.execute("PRAGMA synchronous=NORMAL")
    return connection


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an exclusive flock on `path` while the block runs."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
