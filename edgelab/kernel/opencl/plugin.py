"""Builds the OpenCL runtime with g++ at first use, keeps it by content, and loads it into this process.

What it needs beyond TVM's wheel: g++ when it is built; an OpenCL library and a driver when it runs.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from edgelab.errors import NotReadyError
from edgelab.kernel.opencl.presence import COMPILER

FOLDER = Path(__file__).parent
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_LIBRARIES = ("-ltvm_runtime", "-ltvm_ffi", "-ldl", "-lpthread")
_COMPILE_TIME_LIMIT_S = 300.0
_WORDS_OF_COMPILER = 600
_loaded: list[ctypes.CDLL] = []
"""The runtime, once it is in this process; it stays until the end."""


def sources() -> tuple[Path, ...]:
    """The C++ files of the runtime; `runtime.cc` is the one to compile."""
    return tuple(sorted(path for path in FOLDER.iterdir() if path.suffix in (".cc", ".h")))


def key(tvm_version: str) -> str:
    """Hexadecimal SHA-256 of everything the built library depends on."""
    digest = hashlib.sha256(repr((FLAGS, _LIBRARIES, tvm_version, platform.machine())).encode())
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def library(cache: Path, *, compiler: str = COMPILER) -> Path:
    """Path of the built runtime in the folder `cache`; it is built (a few seconds) if it is not there yet.

    Raises NotReadyError without a compiler, or with the compiler's words if it fails.
    """
    import tvm

    path = cache / f"opencl-{key(tvm.__version__)}.so"
    if path.exists():
        return path
    found = shutil.which(compiler)
    if found is None:
        raise NotReadyError(
            f"The OpenCL runtime cannot be built: {compiler} was not found.",
            advice="Install it (Debian: apt install g++).",
        )
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(prefix=".opencl-", dir=cache) as folder:
        built = Path(folder, "runtime.so")
        _compile([found, *_arguments(built)])
        # Two processes may build at once: each renames a complete file, and both files are the same.
        built.rename(path)
    return path


def _arguments(built: Path) -> list[str]:
    import tvm
    import tvm_ffi

    roots = [Path(package.__file__ or "").parent for package in (tvm, tvm_ffi)]
    includes = [f"-I{root / 'include'}" for root in roots]
    folders = [f"-L{root / 'lib'}" for root in roots]
    return [*FLAGS, *includes, str(FOLDER / "runtime.cc"), "-o", str(built), *folders, *_LIBRARIES]


def _compile(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_COMPILE_TIME_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotReadyError(
            f"Building the OpenCL runtime took longer than {_COMPILE_TIME_LIMIT_S:g} s.",
            advice="The machine is overloaded or short of memory; free some and try again.",
        ) from None
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        words = "\n".join(errors)[:_WORDS_OF_COMPILER]
        raise NotReadyError(
            f"{Path(command[0]).name} cannot build the OpenCL runtime: {words}",
            advice="It needs a C++17 compiler (g++ 8 or newer) and the headers in TVM's wheel.",
        )


def load(cache: Path, *, compiler: str = COMPILER) -> None:
    """Make `tvm.device("opencl", i)` and modules built for OpenCL work in this process.

    Does nothing the second time. Raises NotReadyError if the runtime cannot be built or loaded. A missing
    driver shows in `devices` only, or in the first use of a device.
    """
    if _loaded:
        return
    path = library(cache, compiler=compiler)
    try:
        # TVM's libraries, which it is linked with, are in the process already and are found by their names.
        _loaded.append(ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL))
    except OSError as error:
        raise NotReadyError(
            f"The OpenCL runtime cannot be loaded: {error}", advice=f"Delete {path} to have it built again."
        ) from error


def devices() -> tuple[str, ...]:
    """Names of the OpenCL devices, by index; `load` must have been called.

    Raises NotReadyError if there is none: no OpenCL library, no driver, or no device.
    """
    import tvm_ffi

    problem = str(tvm_ffi.get_global_func("edgelab.opencl.problem")())
    if problem:
        raise NotReadyError(
            f"There is no OpenCL device: {problem}.",
            advice="Install the driver of the GPU, or PoCL for the CPU "
            "(Debian: apt install pocl-opencl-icd ocl-icd-libopencl1).",
        )
    return tuple(str(name) for name in tvm_ffi.get_global_func("edgelab.opencl.devices")())
