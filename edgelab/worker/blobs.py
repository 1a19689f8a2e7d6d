"""Blobs: files named by the SHA-256 of their content, verified before the first use."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path

import numpy as np

from .failures import INFRASTRUCTURE, WorkerFailure

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK_BYTES = 1 << 20


class BlobFolder:
    """Read access to a folder of blobs. A verified file is not hashed again until it changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._verified: dict[str, tuple[int, int]] = {}

    def open(self, sha: object) -> int:
        """Return a read-only file descriptor of a verified blob; the caller closes it.

        Raises WorkerFailure (infrastructure) if `sha` is no SHA-256 (which also refuses every path),
        if the file is missing, or if its content does not have that hash.
        """
        if not isinstance(sha, str) or not _SHA256.fullmatch(sha):
            raise WorkerFailure(
                INFRASTRUCTURE, f"{str(sha)[:80]!r} is not a SHA-256 in lower-case hexadecimal"
            )
        path = self._folder / sha
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise WorkerFailure(
                INFRASTRUCTURE, f"blob {sha} cannot be opened in {self._folder}: {error.strerror}"
            ) from error
        try:
            self._verify(fd, sha)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def forget(self, sha: str) -> None:
        """Delete a blob that will not be asked for again; one that is gone already is what is wanted."""
        self._verified.pop(sha, None)
        with contextlib.suppress(OSError):
            (self._folder / sha).unlink()

    def arrays(self, sha: object, prefix: str) -> list[np.ndarray]:
        """Read the arrays `<prefix>0`, `<prefix>1`, … of an .npz blob, C-contiguous, in that order.

        Raises WorkerFailure (infrastructure) for a bad blob, pickled objects or other names.
        """
        with os.fdopen(self.open(sha), "rb") as file:
            try:
                with np.load(file, allow_pickle=False) as archive:
                    if not isinstance(archive, np.lib.npyio.NpzFile):
                        raise ValueError("it is not an .npz archive")
                    names = [f"{prefix}{index}" for index in range(len(archive.files))]
                    if set(names) != set(archive.files):
                        raise ValueError(f"it holds {sorted(archive.files)}, expected {names}")
                    return [np.require(archive[name], requirements=["C"]) for name in names]
            except (ValueError, OSError, EOFError, AttributeError, TypeError) as error:
                raise WorkerFailure(
                    INFRASTRUCTURE, f"blob {sha} cannot be read as arrays: {error}"
                ) from error

    def _verify(self, fd: int, sha: str) -> None:
        state = os.fstat(fd)
        stamp = (state.st_mtime_ns, state.st_size)
        if self._verified.get(sha) == stamp:
            return
        digest = hashlib.sha256()
        while chunk := os.read(fd, _CHUNK_BYTES):
            digest.update(chunk)
        os.lseek(fd, 0, os.SEEK_SET)
        if digest.hexdigest() != sha:
            self._verified.pop(sha, None)
            raise WorkerFailure(
                INFRASTRUCTURE, f"blob {sha} is damaged: its content has the hash {digest.hexdigest()}"
            )
        self._verified[sha] = stamp
