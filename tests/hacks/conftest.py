"""One set of services and references for all cheats."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hacks.evaluations import Evaluations


@pytest.fixture(scope="session")
def evaluations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluations]:
    with Evaluations(tmp_path_factory.mktemp("evaluations")) as running:
        yield running
