"""Packs edgelab/worker into `edgelab-worker.pyz`: the same bytes for the same sources, named by hash."""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from pathlib import Path

import edgelab

_SHEBANG = b"#!/usr/bin/env python3\n"
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16
_MAIN = b"import sys\n\nfrom edgelab.worker.main import main\n\nsys.exit(main())\n"
_PACKAGE = b'"""The part of EdgeLab that runs on a device."""\n'


def build_archive(cache: Path) -> Path:
    """Return `cache/worker/<sha256>/edgelab-worker.pyz`, written if it is not there yet.

    Two processes may do so at once. Raises OSError if the cache cannot be written.
    """
    content = archive_bytes()
    path = cache / "worker" / hashlib.sha256(content).hexdigest() / "edgelab-worker.pyz"
    if path.is_file() and path.stat().st_size == len(content):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(content)
            file.flush()
            temporary.chmod(0o755)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    return path


def archive_bytes(sources: Path | None = None) -> bytes:
    """The archive's content: a shebang line, then a zip with fixed timestamps in sorted order."""
    folder = sources or Path(edgelab.__file__).parent / "worker"
    members = {"__main__.py": _MAIN, "edgelab/__init__.py": _PACKAGE}
    for path in folder.rglob("*.py"):
        members[f"edgelab/worker/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.create_system = 3
            info.external_attr = _MODE
            archive.writestr(info, members[name])
    return _SHEBANG + buffer.getvalue()
