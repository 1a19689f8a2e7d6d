"""The worker runtime as one archive: numpy, and of TVM what the worker imports, without compiler and tests."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from edgelab.drivers.bootstrap.board_python import BoardPython
from edgelab.drivers.bootstrap.wheels import package_files, versions

_TVM_PARTS = frozenset(
    {"backend", "driver", "ir", "rpc", "runtime", "script", "support", "sym", "target", "te", "tirx"}
)
"""Packages of TVM that `tvm.runtime.vm` imports (traced; a test starts the worker from a bundle)."""

_LIBRARIES = frozenset({"tvm/lib/libtvm_runtime.so", "tvm_ffi/lib/libtvm_ffi.so"})
_LINKED = frozenset({"tvm_ffi/lib/libtvm_ffi_testing.so"})
"""What TVM's Python extension is linked against, for tests of its own, and cannot be loaded without."""

_SKIPPED_PARTS = frozenset(
    {"tests", "testing", "include", "share", "3rdparty", "f2py", "__pycache__", "conftest.py"}
)
_NEEDED = frozenset({"numpy/testing", "numpy/_pytesttester.py"})
_SKIPPED_ENDS = (".pyi", ".pyx", ".pxd", ".h", ".hpp", ".cc", ".a", ".lib", ".pc", ".inc", ".md", ".cmake")


class Bundle(msgspec.Struct, frozen=True):
    """An archive and what is in it; `library_bytes` are TVM's two libraries."""

    path: Path
    digest: str
    size_bytes: int
    library_bytes: int
    versions: dict[str, str]


def is_kept(path: str) -> bool:
    """Whether the worker needs a file of its packages."""
    parts = path.split("/")
    top = parts[0]
    if top.endswith((".dist-info", ".data")) or path.endswith(_SKIPPED_ENDS):
        return False
    if any(path.startswith(needed) for needed in _NEEDED):
        return "tests" not in parts
    if any(part in _SKIPPED_PARTS for part in parts):
        return False
    if top in ("tvm", "tvm_ffi") and path.endswith(".so") and "/lib" in path:
        return path in _LIBRARIES | _LINKED
    if top == "tvm":
        return path.endswith(".py") and (len(parts) == 2 or parts[1] in _TVM_PARTS)
    return True


def build_bundle(python: BoardPython, cache: Path) -> Bundle:
    """Return the bundle for a board's Python, built when it is not in `cache` yet. Blocks for some seconds.

    Raises `NotReadyError` when packages cannot be had, OSError when the cache cannot be written.
    """
    known = _key(python)
    index = cache / "runtimes" / f"{known}.json"
    if index.exists():
        bundle = msgspec.json.decode(
            index.read_bytes(), type=Bundle, dec_hook=lambda kind, value: kind(value)
        )
        if bundle.path.exists():
            return bundle
    kept = sorted((path, data) for path, data in package_files(python, cache) if is_kept(path))
    content = archive(kept)
    digest = hashlib.sha256(content).hexdigest()
    path = cache / "runtimes" / f"{digest}.tar.gz"
    _replace(path, content)
    sizes = {path: len(data) for path, data in kept}
    bundle = Bundle(
        path, digest, len(content), sum(sizes.get(library, 0) for library in _LIBRARIES), versions()
    )
    _replace(index, msgspec.json.encode(bundle, enc_hook=str))
    return bundle


def archive(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a gzipped tar with the same bytes for the same files."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for path, data in files:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _key(python: BoardPython) -> str:
    names = "-".join(f"{name}{version}" for name, version in versions().items())
    return hashlib.sha256(f"{python.machine}-{python.tag}-{names}".encode()).hexdigest()[:32]


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
