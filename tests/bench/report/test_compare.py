"""Two runs side by side, by value and by property."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.report.compare import compare, ratio_interval
from tests.support.instances import a_failure, an_instance


@st.composite
def estimates(draw: st.DrawFn) -> tuple[float, tuple[float, float]]:
    value = draw(st.floats(0.1, 20))
    return value, (value * draw(st.floats(0.5, 1)), value * draw(st.floats(1, 2)))


@given(estimates(), estimates())
def test_the_interval_contains_the_ratio_and_turns_over_with_it(first, second):
    low, high = ratio_interval(*first, *second)
    ratio = second[0] / first[0]
    assert low <= ratio * (1 + 1e-9)
    assert high >= ratio * (1 - 1e-9)
    assert ratio_interval(*second, *first) == pytest.approx((1 / high, 1 / low))


@given(estimates(), estimates())
def test_the_interval_is_no_wider_than_the_worst_of_both(first, second):
    (a, (a_low, a_high)), (b, (b_low, b_high)) = first, second
    low, high = ratio_interval(a, (a_low, a_high), b, (b_low, b_high))
    assert low >= b_low / a_high * (1 - 1e-9)
    assert high <= b_high / a_low * (1 + 1e-9)


def test_an_exact_side_leaves_the_others_interval():
    assert ratio_interval(1.0, (1.0, 1.0), 2.0, (1.8, 2.2)) == pytest.approx((1.8, 2.2))


def only(first, second):
    (row,) = compare("A", "B", [first], [second]).rows
    return row


def test_a_change_of_verdict_has_no_ratio():
    row = only(an_instance(), a_failure())
    assert (row.ratio, row.ratio_ci95, row.change) == (None, None, "ok → failed (numeric)")


def test_a_ratio_without_usable_intervals_has_none():
    assert only(an_instance(), an_instance(ci95=(-0.1, 3.0))).ratio == 1.0
    assert only(an_instance(), an_instance(ci95=(-0.1, 3.0))).ratio_ci95 is None
    assert only(an_instance(ci95=None), an_instance()).ratio_ci95 is None


def test_a_task_of_one_run_only_is_missing_in_the_other():
    rows = compare("A", "B", [an_instance("a")], [an_instance("b")]).rows
    assert [(row.task, row.change) for row in rows] == [("a", "ok → missing"), ("b", "missing → ok")]


def test_what_makes_two_runs_hard_to_compare_is_said():
    programs = {"candidate_program": "c", "baseline_program": "b"}
    assert only(an_instance(), an_instance()).notes == ()
    assert "same program" in only(an_instance(**programs), an_instance(**programs)).notes[0]
    other = an_instance(
        device="phone", simulated=True, candidate_program="d", baseline_program="x", baseline_kind="plain"
    )
    notes = " ".join(only(an_instance(**programs), other).notes)
    assert "Not the same device: orin (cuda) and phone (cuda)" in notes
    assert "simulated" in notes
    assert "baseline's program changed" in notes
    assert (
        "Not the same baseline: plain and tuned."
        in only(an_instance(), an_instance(baseline_kind="tuned")).notes
    )
