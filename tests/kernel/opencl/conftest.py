from __future__ import annotations

import ctypes.util
import shutil
from pathlib import Path

import pytest

from edgelab.kernel.opencl import plugin


def missing() -> str | None:
    """What this machine lacks to run OpenCL programs; None if nothing."""
    if shutil.which("g++") is None:
        return "g++"
    if ctypes.util.find_library("OpenCL") is None:
        return "libOpenCL.so.1 (Debian's ocl-icd-libopencl1)"
    if not list(Path("/etc/OpenCL/vendors").glob("*.icd")):
        return "an OpenCL driver (Debian's pocl-opencl-icd)"
    return None


@pytest.fixture(scope="session")
def plugin_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the OpenCL runtime, built once for all tests; skips where that or a device is missing."""
    if (lacking := missing()) is not None:
        pytest.skip(f"needs {lacking}")
    cache = tmp_path_factory.mktemp("opencl")
    plugin.library(cache)
    return cache


@pytest.fixture(scope="session")
def opencl(plugin_cache: Path) -> tuple[str, ...]:
    """The OpenCL runtime in this process; the names of its devices."""
    plugin.load(plugin_cache)
    return plugin.devices()
