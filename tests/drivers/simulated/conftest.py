"""Boards that are looked at without SSH."""

from __future__ import annotations

import pytest

from edgelab.drivers.simulated.tree import create


@pytest.fixture
def orin(tmp_path):
    create(tmp_path / "orin", "jetson-agx-orin-64gb")
    return tmp_path / "orin"


@pytest.fixture
def rock(tmp_path):
    create(tmp_path / "rock", "rk3588")
    return tmp_path / "rock"
