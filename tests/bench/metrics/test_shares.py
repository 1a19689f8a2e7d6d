"""CSR, FCR, Fast@p and their intervals, by value and by property."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.metrics.shares import (
    clearly_faster_share,
    compiled_share,
    correct_share,
    fast_curve,
    fast_share,
    share_of,
    wilson_interval,
)
from tests.support.instances import a_failure, an_instance, instances

SELECTIONS = st.lists(instances(), max_size=30)


def test_wilson_interval_of_known_values():
    # Newcombe, "Two-sided confidence intervals for the single proportion", Stat. Med. 17 (1998), table I.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson_interval(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_a_share_of_nothing_is_unknown_and_not_zero():
    assert (share_of(0, 0).share, share_of(0, 0).ci95) == (None, None)


@pytest.mark.parametrize(("count", "total"), [(-1, 5), (6, 5), (1, 0)])
def test_impossible_counts_are_refused(count, total):
    with pytest.raises(ValueError, match="0 <= count <= total"):
        wilson_interval(count, total)


@given(st.integers(1, 2000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_a_wilson_interval_contains_its_estimate_and_stays_in_bounds(case):
    found = share_of(*case)
    assert found.ci95 is not None
    assert found.share is not None
    low, high = found.ci95
    assert 0 <= low <= found.share <= high <= 1
    assert low < high


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_a_wilson_interval_is_mirrored_and_narrows(case):
    count, total = case
    low, high = wilson_interval(count, total) or (0, 0)
    assert wilson_interval(total - count, total) == pytest.approx((1 - high, 1 - low))
    more_low, more_high = wilson_interval(4 * count, 4 * total) or (0, 0)
    assert more_high - more_low < high - low


def test_the_protocol_counts_as_it_says():
    selection = [
        an_instance("a", speedup=2.0),
        an_instance("b", speedup=0.8),
        an_instance("unstable", verdict="unstable", quality="none", speedup=9.0),
        an_instance("paired", quality="paired", speedup=3.0),
        a_failure("wrong"),
        a_failure("broken", "syntax_api", compiled=False),
        a_failure("missing", "", verdict="missing", compiled=False),
        a_failure("lost", "infrastructure", verdict="not_judged", compiled=False),
    ]
    assert (compiled_share(selection).count, compiled_share(selection).total) == (5, 7)
    assert (correct_share(selection).count, correct_share(selection).total) == (4, 7)
    assert (fast_share(selection, 0).count, fast_share(selection, 0).total) == (2, 7)
    assert fast_share(selection, 1).count == 1
    assert fast_share(selection, 1, any_quality=True).count == 2
    assert fast_share(selection, 2).count == 0


def test_what_is_faster_within_its_noise_is_not_clearly_faster():
    selection = [
        an_instance("clear", speedup=1.02, ci95=(1.01, 1.03)),
        an_instance("noise", speedup=1.02, ci95=(0.99, 1.05)),
        an_instance("paired", quality="paired"),
        an_instance("unknown", ci95=None),
        a_failure("wrong"),
    ]
    assert (clearly_faster_share(selection).count, clearly_faster_share(selection).total) == (1, 5)
    assert fast_share(selection, 1).count == 3


def test_the_curve_steps_at_each_speedup():
    selection = [
        an_instance(speedup=2.0), an_instance(speedup=0.5), a_failure(), an_instance(speedup=2.0),
    ]  # fmt: skip
    assert [(point.p, point.share) for point in fast_curve(selection)] == [(0, 0.75), (0.5, 0.5), (2.0, 0.0)]
    assert fast_curve([a_failure(verdict="not_judged")]) == ()


@given(SELECTIONS)
def test_shares_nest(selection):
    csr, fcr, fast = compiled_share(selection), correct_share(selection), fast_share(selection, 0)
    assert csr.total == fcr.total == fast.total
    assert csr.count >= fcr.count >= fast.count >= 0


@given(SELECTIONS, st.floats(0, 60), st.floats(0, 60))
def test_fast_falls_with_p(selection, first, second):
    low, high = sorted((first, second))
    assert fast_share(selection, low).count >= fast_share(selection, high).count
    assert fast_share(selection, low, any_quality=True).count >= fast_share(selection, low).count


@given(SELECTIONS, st.floats(0, 60))
def test_the_curve_is_fast_at_every_p(selection, p):
    curve = fast_curve(selection)
    expected = fast_share(selection, p).share
    assert (expected is None) == (not curve)
    if curve:
        assert [point for point in curve if point.p <= p][-1].share == pytest.approx(expected)


@given(SELECTIONS, st.randoms())
def test_the_order_of_instances_does_not_matter(selection, chance: random.Random):
    shuffled = chance.sample(selection, len(selection))
    for measure in (compiled_share, correct_share, fast_curve):
        assert measure(shuffled) == measure(selection)


@given(SELECTIONS)
def test_what_is_not_judged_changes_nothing_and_what_is_missing_counts_against(selection):
    lost = a_failure(verdict="not_judged", failure_class="infrastructure")
    gone = a_failure(verdict="missing", failure_class="", compiled=False)
    for measure in (compiled_share, correct_share):
        assert measure([*selection, lost]) == measure(selection)
        with_gone = measure([*selection, gone])
        assert (with_gone.count, with_gone.total) == (measure(selection).count, measure(selection).total + 1)
