"""Engines' children import the runners that stand in for engines from this folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _tests_can_be_imported(monkeypatch: pytest.MonkeyPatch):
    root = str(Path(__file__).parents[3])
    known = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{root}{os.pathsep}{known}" if known else root)
