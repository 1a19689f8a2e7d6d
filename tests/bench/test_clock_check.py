"""Whether a program's own times agree with the worker's clock: lies are found, busy machines are not accused."""

from __future__ import annotations

import random

import pytest

from edgelab.bench.clock_check import FEWEST_PAIRS, check_clocks
from edgelab.errors import EvaluationFailure, FailureClass


def gaps(count: int, seed: int, level_s: float = 60e-6) -> list[float]:
    """The way there and back on a busy machine: short mostly, a scheduler's slice now and then."""
    source = random.Random(seed)
    return [
        level_s * source.lognormvariate(0, 0.4) + (4e-3 if source.random() < 0.15 else 0)
        for _ in range(count)
    ]


@pytest.mark.parametrize(("hidden_s", "count"), [(5e-3, 100), (1e-3, 300), (4e-4, 2000)])
def test_hidden_time_is_a_hack(hidden_s, count):
    lying = [gap + hidden_s for gap in gaps(count, 1)]
    with pytest.raises(EvaluationFailure, match="less time than the worker's clock") as caught:
        check_clocks(lying, gaps(count, 2), block_s=1e-3)
    assert caught.value.failure_class is FailureClass.HACK
    assert "unexplained" in caught.value.detail


def test_a_baseline_with_the_larger_gap_harms_only_itself():
    check_clocks(gaps(100, 1), [gap + 5e-3 for gap in gaps(100, 2)], block_s=1e-3)


def test_few_pairs_accuse_nobody():
    check_clocks([1.0] * (FEWEST_PAIRS - 1), [0.0] * (FEWEST_PAIRS - 1), block_s=1e-3)


@pytest.mark.parametrize("seed", range(40))
def test_noise_accuses_nobody(seed):
    check_clocks(gaps(40, seed), gaps(40, seed + 1000), block_s=1e-3)


@pytest.mark.parametrize("seed", range(40))
def test_a_side_that_is_disturbed_for_a_while_is_not_accused(seed):
    source = random.Random(seed)
    ours = gaps(400, seed)
    begin = source.randrange(200)
    ours[begin : begin + 150] = [gap + 3e-3 for gap in ours[begin : begin + 150]]
    check_clocks(ours, gaps(400, seed + 1000), block_s=1e-3)


def test_a_share_of_a_long_block_is_tolerated():
    check_clocks([900e-6] * 40, [50e-6] * 40, block_s=0.1)
    with pytest.raises(EvaluationFailure):
        check_clocks([900e-6] * 40, [50e-6] * 40, block_s=1e-3)
