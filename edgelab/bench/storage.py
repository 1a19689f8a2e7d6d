"""Small file operations that evaluation shares: atomic writes and content hashes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from edgelab.errors import EvaluationFailure, FailureClass


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` so that readers see the old file or the new one, never a part.

    Raises `EvaluationFailure` (infrastructure) that names the path when the disk does not allow it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:16]}-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"Cannot write {path}: {error.strerror}.",
            advice="Free disk space there or choose another folder with --home.",
        ) from error


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
