"""Whether this machine can run OpenCL programs; asked by commands that must not import TVM."""

from __future__ import annotations

import ctypes.util
import os
import shutil
from pathlib import Path

COMPILER = "g++"
_VENDORS = "/etc/OpenCL/vendors"


def drivers() -> tuple[str, ...]:
    """Return the names of the installed drivers' files (OCL_ICD_VENDORS names another folder, as for the loader)."""
    folder = Path(os.environ.get("OCL_ICD_VENDORS", _VENDORS))
    return tuple(sorted(path.name for path in folder.glob("*.icd"))) if folder.is_dir() else ()


def missing() -> str | None:
    """Return what this machine lacks and how to get it; None if nothing."""
    if shutil.which(COMPILER) is None:
        return f"{COMPILER}, which builds EdgeLab's OpenCL runtime (Debian: apt install g++)"
    if ctypes.util.find_library("OpenCL") is None:
        return "libOpenCL.so.1 (Debian: apt install ocl-icd-libopencl1)"
    if not drivers():
        return "an OpenCL driver: that of the GPU, or PoCL for the CPU (Debian: apt install pocl-opencl-icd)"
    return None
