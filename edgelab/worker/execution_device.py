"""Where a program runs: the CPU, or a GPU that its child opens for itself, since no driver survives a fork.

OpenCL comes from EdgeLab's own runtime library, which the controller sends as a blob; CUDA from the library
`libtvm_runtime_cuda.so` that stands beside TVM's own where TVM was installed with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cuda_image

KINDS = ("cpu", "cuda", "opencl")
_CUDA_LIBRARY = "libtvm_runtime_cuda.so"
_FILL_BYTES = 256 << 20
_NAN_BYTE = 0xFF
"""A float of any width whose bytes are all ones is NaN."""


@dataclass(frozen=True)
class ExecutionDevice:
    """`kind` is one of `KINDS`, `index` counts the machine's devices of this kind from 0."""

    kind: str = "cpu"
    index: int = 0

    @property
    def own_memory(self) -> bool:
        """Whether its memory is not this machine's, so that the kernel's accounts do not show it."""
        return self.kind == "cuda"

    @property
    def has_driver(self) -> bool:
        """Whether a driver works in the child, which needs files and threads until it has run a kernel once."""
        return self.kind != "cpu"


CPU = ExecutionDevice()


def configure(device: ExecutionDevice, threads: int, kernel_cache: str | None) -> None:
    """Set what drivers read from the environment; before any of them is loaded.

    PoCL computes with `threads` threads, as programs for the CPU do, and compiles into `kernel_cache`.
    """
    if device.kind == "opencl":
        # Its name changed with PoCL 4.
        os.environ["POCL_MAX_PTHREAD_COUNT"] = os.environ["POCL_CPU_MAX_CU_COUNT"] = str(threads)
        if kernel_cache is not None:
            os.environ["POCL_CACHE_DIR"] = kernel_cache
    elif device.kind == "cuda":
        # Machine code is in the program; nothing is compiled here, and nothing may be written.
        os.environ["CUDA_CACHE_DISABLE"] = "1"


def cpu() -> Any:
    """Return TVM's device of the CPU."""
    import tvm

    return tvm.cpu(0)


def open_device(device: ExecutionDevice, library_fd: int | None) -> Any:
    """Return TVM's device of a driver, open and usable.

    `library_fd` is EdgeLab's OpenCL runtime. Raises RuntimeError or OSError with what the machine lacks.
    """
    import tvm
    import tvm_ffi

    if device.kind == "opencl":
        if library_fd is None:
            raise RuntimeError("no OpenCL runtime was sent with the program")
        ctypes.CDLL(f"/proc/self/fd/{library_fd}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
        problem = str(tvm_ffi.get_global_func("edgelab.opencl.problem")())
        if problem:
            raise RuntimeError(problem)
    else:
        ctypes.CDLL(str(_cuda_library()), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        tvm_ffi.register_global_func("tvm_callback_cuda_compile", _machine_code, override=True)
    opened: Any = tvm.runtime.device(device.kind, device.index)
    if not opened.exist:
        raise RuntimeError(f"this machine has no {device.kind} device {device.index}")
    return opened


def _cuda_library() -> Path:
    import tvm

    found = sorted(Path(tvm.__file__).parent.rglob(_CUDA_LIBRARY))
    if not found:
        raise RuntimeError(f"TVM was installed without {_CUDA_LIBRARY}")
    return found[0]


def _machine_code(text: str, _target: object = None) -> bytes:
    return cuda_image.decode(str(text))


def fill_free_memory(device: Any) -> None:
    """Fill memory of a GPU with NaN that its driver may give out next, as far as it has so much.

    A driver need not clear what a process frees and allocates again, nor give the same place back: on an H200
    zeros came, so this alone finds no stale read there. EdgeLab's OpenCL runtime fills each buffer that it
    allocates and needs none of this.
    """
    import numpy as np
    from tvm.runtime import empty

    # A GPU that has less left fails here, which is no failure of the program.
    with contextlib.suppress(RuntimeError):
        empty((_FILL_BYTES,), "uint8", device).copyfrom(np.full(_FILL_BYTES, _NAN_BYTE, dtype="uint8"))


def free_bytes(device: ExecutionDevice, opened: Any) -> int | None:
    """Return how much of a GPU's own memory is free; None for devices without memory of their own."""
    return int(opened.available_global_memory) if device.own_memory else None
