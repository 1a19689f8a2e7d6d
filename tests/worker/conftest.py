from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.support import WorkerUnderTest


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of compiled programs, see build_artefacts.py."""
    folder = tmp_path_factory.mktemp("artefacts")
    script = Path(__file__).parent / "build_artefacts.py"
    subprocess.run([sys.executable, str(script), str(folder)], check=True, timeout=240, capture_output=True)
    return folder


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
