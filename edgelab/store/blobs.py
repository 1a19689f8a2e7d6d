"""Blobs: big things named by the SHA-256 of their content, compressed, written once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zlib
from pathlib import Path

from edgelab.errors import NotReadyError


class BlobStore:
    """A folder of zlib-compressed blobs; the name is the SHA-256 of the uncompressed content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, digest: str) -> Path:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise ValueError(f"{digest!r} is not a SHA-256 name")
        return self._folder / digest[:2] / digest

    def __contains__(self, digest: str) -> bool:
        return self._path(digest).exists()

    def put(self, content: bytes) -> str:
        """Store `content` and return its SHA-256. Raises `NotReadyError` when it cannot be written."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        if path.exists():
            return digest
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, zlib.compress(content, 6))
        except OSError as error:
            raise NotReadyError(
                f"Cannot write blob {digest[:12]} under {self._folder}: {error.strerror}.",
                advice="Free disk space there or choose another folder with --home.",
            ) from error
        return digest

    @staticmethod
    def _write(path: Path, packed: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".blob-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(packed)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                Path(temporary).unlink()
            raise

    def get(self, digest: str) -> bytes:
        """Return the content. Raises KeyError when absent, ValueError when the file is damaged."""
        try:
            packed = self._path(digest).read_bytes()
        except FileNotFoundError as error:
            raise KeyError(digest) from error
        try:
            content = zlib.decompress(packed)
        except zlib.error as error:
            raise ValueError(f"blob {digest[:12]} is damaged: {error}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"blob {digest[:12]} is damaged: its content has another hash")
        return content
