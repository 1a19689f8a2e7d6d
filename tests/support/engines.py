"""Engines for tests: the misbehaving ones by name, and whether a real one is installed."""

from __future__ import annotations

import pytest

from edgelab.bench.engines.engine import Engine, InstalledEngine
from edgelab.bench.engines.registry import find_engine


def acting(runner: str) -> Engine:
    """Return an engine whose child runs `tests.support.engine_runners.<runner>`."""
    return InstalledEngine(
        name=runner.removesuffix("Runner").lower(),
        title="a test's engine",
        runner=f"tests.support.engine_runners:{runner}",
        packages=("torch",),
    )


def absent() -> Engine:
    """Return an engine that nobody has installed."""
    return InstalledEngine(
        name="absent", title="absent", runner="nowhere:Runner", packages=("edgelab-no-such",), extra="engines"
    )


def installed(name: str) -> Engine:
    """Return a real engine; skips the test with the reason when it is not here."""
    engine = find_engine(name)
    found = engine.available()
    if found.version is None:
        pytest.skip(f"{name}: {found.reason}")
    return engine
