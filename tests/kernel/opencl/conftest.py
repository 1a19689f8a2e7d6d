from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.kernel.opencl import plugin, presence


@pytest.fixture(scope="session")
def plugin_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the OpenCL runtime, built once for all tests; skips where that or a device is missing."""
    if (lacking := presence.missing()) is not None:
        pytest.skip(f"needs {lacking}")
    cache = tmp_path_factory.mktemp("opencl")
    plugin.library(cache)
    return cache


@pytest.fixture(scope="session")
def opencl(plugin_cache: Path) -> tuple[str, ...]:
    """The OpenCL runtime in this process; the names of its devices."""
    plugin.load(plugin_cache)
    return plugin.devices()
