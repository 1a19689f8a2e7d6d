"""Installs the worker runtime on a board: repeatable, resumable, and in place only once it was seen to work."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from edgelab.drivers.board_folder import BLOBS, CURRENT_RUNTIME, RUNTIMES
from edgelab.drivers.bootstrap.board_python import BoardPython, find_python
from edgelab.drivers.bootstrap.runtime_bundle import Bundle, build_bundle
from edgelab.drivers.transport import Transport
from edgelab.errors import NotReadyError

_UNPACKED_FACTOR = 4
_UNPACK_LIMIT_S = 600.0
_QUICK_LIMIT_S = 60.0

_UNPACK = """
import hashlib, os, pathlib, shutil, sys, tarfile, venv
blob, digest, place = sys.argv[1:4]
with open(blob, "rb") as file:
    if hashlib.sha256(file.read()).hexdigest() != digest:
        sys.exit("the archive was damaged on its way")
new = place + ".new"
shutil.rmtree(new, ignore_errors=True)
venv.EnvBuilder(with_pip=False, symlinks=True).create(new)
site = next(pathlib.Path(new).glob("lib/python3*/site-packages"))
with tarfile.open(blob) as archive:
    archive.extractall(site, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
"""

_TEST = """
import os, sys
os.environ["TVM_USE_RUNTIME_LIB"] = "1"
sys.modules["torch"] = None
import numpy, tvm.runtime.vm, tvm
assert tvm.runtime.tensor(numpy.ones(3, "float32")).numpy().sum() == 3
print("numpy", numpy.__version__, "tvm", tvm.__version__)
"""

_SWITCH = """
import os, pathlib, shutil, sys
place, current = sys.argv[1:3]
name = os.path.basename(place)
shutil.rmtree(place, ignore_errors=True)
os.rename(place + ".new", place)
before = open(current).read().strip() if os.path.exists(current) else ""
with open(current + ".new", "w") as file:
    file.write(name + "\\n")
os.replace(current + ".new", current)
for other in pathlib.Path(place).parent.iterdir():
    if other.is_dir() and other.name not in (name, before):
        shutil.rmtree(other, ignore_errors=True)
"""


class Progress(msgspec.Struct, frozen=True):
    """What is done now; `done` of `total` bytes where bytes are counted."""

    step: str
    done: int = 0
    total: int = 0


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime in use on a board. `already` says that it was there before."""

    device: str
    runtime: str
    python: str
    versions: dict[str, str]
    sent_bytes: int
    library_bytes: int
    already: bool = False


OnProgress = Callable[[Progress], None]


async def bootstrap(board: Transport, cache: Path, progress: OnProgress) -> Installed:
    """Put the worker runtime on a board and make it the current one. The caller holds the board's lease.

    Raises `NotReadyError` when the board cannot have one, `LinkFailure` when the link breaks: repeated, it goes
    on where it was.
    """
    progress(Progress("looking at the board's Python"))
    python = await find_python(board)
    progress(Progress("cutting numpy and TVM's runtime for it"))
    bundle = await asyncio.to_thread(build_bundle, python, cache)
    current = (
        ((await board.read_many([CURRENT_RUNTIME]))[CURRENT_RUNTIME] or b"").decode(errors="replace").strip()
    )
    if current == bundle.digest:
        return _installed(board, python, bundle, already=True)
    _check_room(board, python, bundle)
    await board.put(bundle.path, progress=lambda done, total: progress(Progress("sending", done, total)))
    place = f"{RUNTIMES}/{bundle.digest}"
    progress(Progress("unpacking"))
    await _run(board, python, _UNPACK, (f"{BLOBS}/{bundle.digest}", bundle.digest, place), _UNPACK_LIMIT_S)
    progress(Progress("trying it"))
    await _run(
        board,
        msgspec.structs.replace(python, executable=f"{place}.new/bin/python"),
        _TEST,
        (),
        _QUICK_LIMIT_S,
    )
    await _run(board, python, _SWITCH, (place, CURRENT_RUNTIME), _QUICK_LIMIT_S)
    # The archive is as big as what came out of it, and can be sent again.
    await board.run(("rm", "-f", f"{BLOBS}/{bundle.digest}"), _QUICK_LIMIT_S)
    return _installed(board, python, bundle, already=False)


def _check_room(board: Transport, python: BoardPython, bundle: Bundle) -> None:
    needed = _UNPACKED_FACTOR * bundle.size_bytes
    if python.free_bytes < needed:
        raise NotReadyError(
            f"{board.device} has {python.free_bytes >> 20} MiB free, the worker runtime needs {needed >> 20} MiB.",
            advice="Free disk space on the board.",
        )


async def _run(
    board: Transport, python: BoardPython, code: str, arguments: tuple[str, ...], limit_s: float
) -> None:
    result = await board.run((python.executable, "-c", code, *arguments), limit_s)
    if result.exit_code != 0:
        said = (result.stderr.decode(errors="replace").strip().splitlines() or ["no word of why"])[-1]
        raise NotReadyError(
            f"{board.device}: the worker runtime could not be installed: {said}.",
            advice=f"Try on the board: {shlex.quote(python.executable)} -m venv --without-pip /tmp/try",
        )


def _installed(board: Transport, python: BoardPython, bundle: Bundle, *, already: bool) -> Installed:
    return Installed(
        device=board.device,
        runtime=bundle.digest,
        python=f"{python.executable} {python.version[0]}.{python.version[1]}",
        versions=bundle.versions,
        sent_bytes=0 if already else bundle.size_bytes,
        library_bytes=bundle.library_bytes,
        already=already,
    )
