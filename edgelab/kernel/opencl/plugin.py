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
_TVM_LIBRARIES = ("tvm_runtime", "tvm_ffi")
_LIBRARIES = ("-Wl,--no-as-needed", *(f"-l{name}" for name in _TVM_LIBRARIES), "-ldl", "-lpthread")
_COMPILE_TIME_LIMIT_S = 300.0
_WORDS_OF_COMPILER = 600
_loaded: list[ctypes.CDLL] = []
"""The runtime, once it is in this process; it stays until the end."""


def sources() -> tuple[Path, ...]:
    """The C++ files of the runtime; `runtime.cc` is the one to compile."""
    return tuple(sorted(path for path in FOLDER.iterdir() if path.suffix in (".cc", ".h")))


def key(tvm_version: str, machine: str = "") -> str:
    """Hexadecimal SHA-256 of everything the built library depends on; `machine` is an architecture by its uname."""
    digest = hashlib.sha256(repr((FLAGS, _LIBRARIES, tvm_version, machine or platform.machine())).encode())
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def compiler_for(machine: str) -> str:
    """Name of the compiler that builds for an architecture, such as aarch64."""
    return COMPILER if machine == platform.machine() else f"{machine}-linux-gnu-{COMPILER}"


def library(cache: Path, *, machine: str = "", compiler: str = "") -> Path:
    """Path of the built runtime in the folder `cache`; it is built (a few seconds) if it is not there yet.

    `machine` is the device's architecture as its uname has it (empty: this machine's). Raises NotReadyError
    without a compiler, or with the compiler's words if it fails.
    """
    import tvm

    machine = machine or platform.machine()
    path = cache / f"opencl-{key(tvm.__version__, machine)}.so"
    if path.exists():
        return path
    compiler = compiler or compiler_for(machine)
    found = shutil.which(compiler)
    if found is None:
        package = COMPILER if machine == platform.machine() else f"{COMPILER}-{machine}-linux-gnu"
        raise NotReadyError(
            f"The OpenCL runtime cannot be built: {compiler} was not found.",
            advice=f"Install it (Debian: apt install {package}).",
        )
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(prefix=".opencl-", dir=cache) as folder:
        built = Path(folder, "runtime.so")
        if machine == platform.machine():
            libraries = [str(root / "lib") for root in _packages()]
        else:
            libraries = [str(_stand_ins(found, Path(folder)))]
        _compile([found, *_arguments(built, libraries)])
        # Two processes may build at once: each renames a complete file, and both files are the same.
        built.rename(path)
    return path


def _packages() -> list[Path]:
    import tvm
    import tvm_ffi

    return [Path(package.__file__ or "").parent for package in (tvm, tvm_ffi)]


def _stand_ins(compiler: str, folder: Path) -> Path:
    """Empty libraries by the names of TVM's: what another architecture's linker needs to note that they are needed."""
    for name in _TVM_LIBRARIES:
        made = folder / f"lib{name}.so"
        soname = f"-Wl,-soname,{made.name}"
        _compile([compiler, "-shared", "-nostdlib", soname, "-x", "c++", os.devnull, "-o", str(made)])
    return folder


def _arguments(built: Path, libraries: list[str]) -> list[str]:
    includes = [f"-I{root / 'include'}" for root in _packages()]
    folders = [f"-L{folder}" for folder in libraries]
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


def load(cache: Path, *, compiler: str = "") -> None:
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
