from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgelab.kernel.opencl import plugin, presence
from tests.worker.support import WorkerUnderTest


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of compiled programs, see build_artefacts.py."""
    return built(tmp_path_factory.mktemp("artefacts"), "llvm")


@pytest.fixture(scope="session")
def opencl_artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of programs compiled for OpenCL, see build_artefacts.py."""
    return built(tmp_path_factory.mktemp("opencl-artefacts"), "opencl")


def built(folder: Path, kind: str) -> Path:
    script = Path(__file__).parent / "build_artefacts.py"
    command = [sys.executable, str(script), str(folder), kind]
    done = subprocess.run(command, timeout=240, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def opencl_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """EdgeLab's OpenCL runtime; skips where it cannot be built or used."""
    if (lacking := presence.missing()) is not None:
        pytest.skip(f"needs {lacking}")
    return plugin.library(tmp_path_factory.mktemp("opencl-runtime"))


@pytest.fixture(scope="module")
def shared_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerUnderTest]:
    """One worker for many tests: each failure must leave it fit for the next."""
    worker = WorkerUnderTest(tmp_path_factory.mktemp("blobs"))
    yield worker
    worker.end()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerUnderTest]:
    """A worker for one test that ends it or looks at its processes."""
    own = WorkerUnderTest(tmp_path)
    yield own
    own.end()
