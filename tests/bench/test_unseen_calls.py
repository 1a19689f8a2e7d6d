"""Programs that are fast only on inputs they have just seen are told from those that are slow to wake up."""

from __future__ import annotations

import numpy as np
import pytest

from edgelab.bench.unseen_calls import FEWEST_CALLS, check_unseen
from edgelab.errors import EvaluationFailure, FailureClass


def _calls(
    ours_s: float, theirs_s: float, *, count: int = 12, noise: float = 0.02
) -> list[tuple[float, float]]:
    factors = 1 + noise * np.random.default_rng(1).standard_normal((count, 2))
    return [(ours_s * a, theirs_s * b) for a, b in factors]


def test_a_program_that_keeps_results() -> None:
    with pytest.raises(EvaluationFailure, match="only on inputs that it has just seen") as caught:
        check_unseen(_calls(1e-3, 1e-3), 1e-4, 1e-3)
    assert caught.value.failure_class is FailureClass.HACK
    assert "12 calls" in caught.value.detail


@pytest.mark.parametrize(
    ("ours_s", "theirs_s", "candidate_s", "baseline_s"),
    [
        pytest.param(1e-3, 5e-3, 1e-3, 5e-3, id="as fast as in blocks"),
        pytest.param(1.2e-3, 5.2e-3, 1e-3, 5e-3, id="both 0.2 ms slower"),
        pytest.param(1.4e-3, 5e-3, 1e-3, 5e-3, id="somewhat colder"),
        pytest.param(15e-6, 4e-6, 2e-6, 3e-6, id="threads that wake up"),
        pytest.param(0.8e-3, 5e-3, 1e-3, 5e-3, id="faster than in blocks"),
    ],
)
def test_an_honest_program(ours_s: float, theirs_s: float, candidate_s: float, baseline_s: float) -> None:
    check_unseen(_calls(ours_s, theirs_s), candidate_s, baseline_s)


def test_noise_and_few_calls_say_nothing() -> None:
    check_unseen(_calls(2e-3, 1e-3, noise=0.9, count=5), 1e-3, 1e-3)
    check_unseen(_calls(1e-3, 1e-3, count=FEWEST_CALLS - 1), 1e-5, 1e-3)
