"""What all tests share: nobody's own lab file, keys or SSH configuration is ever read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# How long one case takes says more about the machine's other work than about the code.
settings.register_profile("edgelab", deadline=None)
settings.load_profile("edgelab")


@pytest.fixture(autouse=True, scope="session")
def _nobody_elses_files():
    """Point the user's folders to an empty place, also for the processes that tests start."""
    with tempfile.TemporaryDirectory(prefix="edgelab-tests-") as folder:
        kept = dict(os.environ)
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder) / "config")
        os.environ["XDG_DATA_HOME"] = str(Path(folder) / "data")
        for name in ("EDGELAB_LAB", "EDGELAB_HOME", "EDGELAB_SUDO_PASSWORD", "SSH_AUTH_SOCK"):
            os.environ.pop(name, None)
        yield
        os.environ.clear()
        os.environ.update(kept)
