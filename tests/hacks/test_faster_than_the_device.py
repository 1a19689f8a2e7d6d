"""Class 30: a time that the device cannot reach is a hack, not a record."""

from __future__ import annotations

import pytest

from edgelab.drivers.profile import Peaks
from edgelab.errors import FailureClass
from tests.hacks.evaluations import Evaluations
from tests.support import candidates

pytestmark = pytest.mark.slow


def test_below_the_floor(evaluations: Evaluations) -> None:
    """The peaks say that the 32 KiB of the task take 16 ms: whoever needs microseconds has not moved them."""
    slow_memory = Peaks(bandwidth_gb_s=0.001, cache_mib=0.0)
    failure = evaluations.failure(candidates.TINY, candidates.GOOD, peaks=slow_memory)
    assert failure.failure_class is FailureClass.HACK
    assert "faster than the device can be" in failure.message
    assert "have to move between memory and caches, at 0.001 GB/s" in failure.detail


def test_above_the_floor_and_without_one(evaluations: Evaluations) -> None:
    known = evaluations.run(
        candidates.TINY, candidates.GOOD, peaks=Peaks(bandwidth_gb_s=1000.0, cache_mib=0.0)
    )
    assert known.floor is not None
    assert 0 < known.floor.latency_s < known.series.statistics.latency_candidate_s
    unknown = evaluations.run(candidates.TINY, candidates.GOOD)
    assert unknown.floor is None
    assert "not checked against the roofline" in evaluations.told()
