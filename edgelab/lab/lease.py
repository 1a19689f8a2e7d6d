"""One owner of a device: a lock file that a run holds while it uses the device.

Two runs on one device at once would time each other. The lock is the kernel's (flock), so it falls with the
process that holds it; what is in the file only says who and since when.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from edgelab.errors import NotReadyError

_POLL_S = 0.2


class Holder(msgspec.Struct, frozen=True):
    """Who holds a device: the run, its process and since when (epoch seconds)."""

    run: str
    pid: int
    since_s: float


def holder_of(path: Path) -> Holder | None:
    """Return who holds the lease at `path` now, None when it is free."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(descriptor)
    finally:
        os.close(descriptor)
    return None


@contextlib.asynccontextmanager
async def lease(path: Path, run: str, on_wait: Callable[[Holder | None], None]) -> AsyncIterator[None]:
    """Hold the device whose lease is `path` while the block runs; waits for as long as another holds it.

    `on_wait` is told once, with the holder, when there is something to wait for. Raises `NotReadyError` when
    the lock file cannot be written.
    """
    descriptor = _open(path)
    try:
        told = False
        while not _try_lock(descriptor):
            if not told:
                on_wait(_read(descriptor))
                told = True
            await asyncio.sleep(_POLL_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(Holder(run, os.getpid(), time.time())), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NotReadyError(
            f"The lease {path} cannot be taken: {error.strerror}.",
            advice="Free disk space there or choose another folder with --home.",
        ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except msgspec.DecodeError:
        # Just taken and not yet signed.
        return None
