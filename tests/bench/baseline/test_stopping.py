"""The stop rule against its definition, and what it decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.baseline.stopping import StopRule, best_so_far, converged_at, least_relative

trial = st.one_of(st.none(), st.floats(1e-6, 1.0))
series = st.lists(trial, max_size=60)


def by_definition(latencies: list[float | None], eps: float, window: int) -> int | None:
    """T_conv word by word."""
    for count in range(1, len(latencies) + 1):
        now = [value for value in latencies[:count] if value is not None]
        later = [value for value in latencies[: count + window] if value is not None]
        if count + window <= len(latencies) and now and min(now) - min(later) < eps * min(now):
            return count
    return None


@given(series, st.floats(0.001, 0.5), st.integers(1, 20))
def test_it_is_the_first_trial_after_which_little_is_gained(latencies, eps, window):
    found = converged_at(latencies, eps=eps, window=window)
    expected = by_definition(latencies, eps, window)
    if found != expected:
        # The two forms of the comparison round differently only where it is all but equal.
        assert found is not None or expected is not None
        count = min(value for value in (found, expected) if value is not None)
        best = best_so_far(latencies)
        now, later = best[count - 1], best[count + window - 1]
        assert now is not None
        assert later == pytest.approx((1 - eps) * now)


@given(series, st.integers(1, 20), st.lists(trial, max_size=30))
def test_more_trials_never_move_it(latencies, window, more):
    found = converged_at(latencies, window=window)
    if found is not None:
        assert converged_at(latencies + more, window=window) == found


@given(series, st.integers(1, 20))
def test_the_unit_of_time_does_not_matter(latencies, window):
    # A power of two scales without rounding.
    scaled = [None if value is None else value * 1024 for value in latencies]
    assert converged_at(scaled, window=window) == converged_at(latencies, window=window)


@given(series)
def test_the_best_so_far_never_rises_and_ends_at_the_least(latencies):
    best = best_so_far(latencies)
    known = [value for value in best if value is not None]
    assert known == sorted(known, reverse=True)
    assert (min(known) if known else None) == min(
        (value for value in latencies if value is not None), default=None
    )
    assert len(best) == len(latencies)


def test_a_flat_series_converges_at_its_first_trial():
    assert converged_at([1.0] * 101) == 1
    assert converged_at([1.0] * 100) is None


def test_two_per_cent_is_the_border():
    assert converged_at([1.0] + [0.981] * 100) == 1
    assert converged_at([1.0] + [0.979] * 100) is None
    assert converged_at([1.0] + [0.979] * 101) == 2


def test_failed_trials_count_as_trials_but_are_no_best():
    assert converged_at([None] * 200) is None
    assert converged_at([None, 1.0] + [None] * 100) == 2


def test_an_exhausted_search_has_converged_by_its_end():
    assert converged_at([3.0, 2.0, 1.0], exhausted=True) == 3
    assert converged_at([1.0, 1.0], exhausted=True) == 1
    assert converged_at([None, None], exhausted=True) is None
    assert converged_at([], exhausted=True) is None


RULE = StopRule(window=4, min_trials=8, restarts=1)


def test_the_budget_ends_everything():
    assert RULE.decide([[1.0] * 5], budget=5) == "stop"
    assert RULE.decide([[1.0] * 3, [1.0] * 2], budget=5) == "stop"


def test_a_search_goes_on_until_the_minimum_even_when_it_seems_to_have_converged():
    assert RULE.decide([[1.0] * 7], budget=100) == "go_on"
    assert RULE.decide([[1.0] * 8], budget=100) == "restart"


def test_a_search_that_still_improves_goes_on():
    falling = [1.0 / (n + 1) for n in range(20)]
    assert RULE.decide([falling], budget=100) == "go_on"


def test_after_the_last_restart_it_stops():
    assert RULE.decide([[1.0] * 8, [1.0] * 8], budget=100) == "stop"
    assert RULE.decide([[1.0] * 8, [1.0] * 7], budget=100) == "go_on"
    assert StopRule(window=4, min_trials=8, restarts=0).decide([[1.0] * 8], budget=100) == "stop"


def test_the_first_decision_is_to_search():
    assert RULE.decide([[]], budget=64) == "go_on"


def test_the_best_finalist_is_told_by_pairs_not_by_luck():
    # Candidate 1 has the single fastest time, in a round in which everything was fast.
    rounds = [[10.0, 9.0, 8.0], [10.0, 9.5, 8.0], [2.0, 1.5, 1.6]]
    assert least_relative(rounds) == (2, 0.8)


def test_the_default_schedule_stays_when_nothing_beats_it():
    assert least_relative([[1.0, 1.2, 1.1]] * 3) == (0, 1.0)


def test_a_finalist_that_fails_once_is_out():
    assert least_relative([[1.0, 0.5], [1.0, None]]) == (0, 1.0)


def test_without_the_default_schedule_there_is_no_comparison():
    assert least_relative([[None, 0.5]]) is None
    assert least_relative([]) is None
