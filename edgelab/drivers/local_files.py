"""File operations of the local transport; they block, so they run in threads."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from pathlib import Path

_CHUNK_BYTES = 1 << 20
_MAX_READ_BYTES = 1 << 20


def read_some(paths: tuple[str, ...]) -> dict[str, bytes | None]:
    """Read the first MiB of each file; None where it cannot be read."""
    contents: dict[str, bytes | None] = {}
    for path in paths:
        contents[path] = None
        with contextlib.suppress(OSError), Path(path).open("rb") as file:
            contents[path] = file.read(_MAX_READ_BYTES)
    return contents


def write_file(path: Path, data: bytes) -> None:
    """Write into a device knob in place, replace a plain file atomically. Raises OSError."""
    if path.exists() and (not path.is_file() or path.is_relative_to("/sys") or path.is_relative_to("/proc")):
        with path.open("wb", buffering=0) as file:
            file.write(data)
        return
    _replace(path, data)


def prepare_blob_folder(folder: Path) -> None:
    """Create the folder of blobs, closed to other users: a sandboxed program is one. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def store_blob(folder: Path, content: bytes | Path) -> str:
    """Copy content into `folder` under its SHA-256, atomically; a damaged blob is replaced.

    Raises OSError (ENOSPC for a full disk); nothing half-written stays behind.
    """
    prepare_blob_folder(folder)
    sha = _digest(content)
    path = folder / sha
    if not (path.is_file() and _digest(path) == sha):
        _replace(path, content, mode=0o600)
    return sha


def _digest(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _replace(path: Path, content: bytes | Path, *, mode: int = 0o644) -> None:
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=".incoming-")
    try:
        with os.fdopen(fd, "wb") as target:
            if isinstance(content, bytes):
                target.write(content)
            else:
                with content.open("rb") as source:
                    while chunk := source.read(_CHUNK_BYTES):
                        target.write(chunk)
        os.chmod(name, mode)  # noqa: PTH101 - `name` is a str
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def take_lease(path: Path, signature: bytes) -> int | bytes:
    """Lock the file and sign it: the descriptor that holds the lock, or what its present holder signed with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not _locked(descriptor):
        signed = os.pread(descriptor, 4096, 0)
        os.close(descriptor)
        return signed
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, signature, 0)
    return descriptor


def _locked(descriptor: int) -> bool:
    """Whether the lock was to be had, also after whoever only looks at it, for a moment, has let it go."""
    for wait_s in (0.1, 0.2, 0.0):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(wait_s)
    return False
