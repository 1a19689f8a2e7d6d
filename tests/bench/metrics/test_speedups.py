"""The geometric mean and its interval, by value and by property."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.metrics.speedups import geometric_mean, mean_speedup, median_speedup
from edgelab.bench.metrics.student import central_probability, quantile_975
from tests.support.instances import SPEEDUPS, a_failure, an_instance

SERIES = st.lists(SPEEDUPS, min_size=2, max_size=40)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (9, 2.2622), (10, 2.2281), (30, 2.0423), (120, 1.9799)],
)
def test_quantiles_are_those_of_the_tables(freedom, quantile):
    assert quantile_975(freedom) == pytest.approx(quantile, abs=5e-5)


def test_the_quantile_nears_the_normal_one():
    assert quantile_975(100_000) == pytest.approx(1.95996, abs=1e-4)
    with pytest.raises(ValueError, match="degree of freedom"):
        quantile_975(0)


@given(st.floats(0, 5), st.integers(1, 60))
def test_probabilities_are_bounded_and_grow(t, freedom):
    assert -1e-12 <= central_probability(t, freedom) <= central_probability(t + 0.5, freedom) <= 1 + 1e-12


def test_a_mean_of_known_values():
    found = geometric_mean([1.0, 2.0, 4.0])
    assert found.value == pytest.approx(2.0)
    half = 4.302653 * math.log(2) / math.sqrt(3)
    assert found.ci95 == pytest.approx((2 / math.exp(half), 2 * math.exp(half)), rel=1e-5)


def test_without_values_nothing_is_known_and_one_has_no_interval():
    assert (geometric_mean([]).value, geometric_mean([]).ci95) == (None, None)
    assert geometric_mean([3.0]).value == pytest.approx(3.0)
    assert geometric_mean([3.0]).ci95 is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_values_without_a_logarithm_are_refused(bad):
    with pytest.raises(ValueError, match="positive finite"):
        geometric_mean([1.0, bad])


@given(SERIES)
def test_the_interval_contains_the_mean_and_the_mean_lies_among_the_values(values):
    found = geometric_mean(values)
    assert found.value is not None
    assert found.ci95 is not None
    assert found.ci95[0] <= found.value <= found.ci95[1]
    assert min(values) * (1 - 1e-9) <= found.value <= max(values) * (1 + 1e-9)


@given(SERIES)
def test_inverted_speedups_invert_mean_and_interval(values):
    there, back = geometric_mean(values), geometric_mean([1 / value for value in values])
    assert there.value is not None
    assert there.ci95 is not None
    assert back.value == pytest.approx(1 / there.value)
    assert back.ci95 == pytest.approx((1 / there.ci95[1], 1 / there.ci95[0]))


@given(SERIES, st.floats(0.1, 10))
def test_scaled_speedups_scale_mean_and_interval(values, factor):
    there, scaled = geometric_mean(values), geometric_mean([factor * value for value in values])
    assert there.value is not None
    assert there.ci95 is not None
    assert scaled.value == pytest.approx(factor * there.value)
    assert scaled.ci95 == pytest.approx(tuple(factor * bound for bound in there.ci95))


@given(SERIES, st.randoms())
def test_the_order_does_not_change_a_digit(values, chance: random.Random):
    assert geometric_mean(chance.sample(values, len(values))) == geometric_mean(values)


def test_only_timings_that_count_are_in_the_mean():
    selection = [
        an_instance("a", speedup=4.0),
        an_instance("b", speedup=1.0),
        an_instance("paired", speedup=9.0, quality="paired"),
        an_instance("unstable", speedup=100.0, verdict="unstable", quality="none"),
        a_failure("wrong"),
    ]
    assert mean_speedup(selection).value == pytest.approx(2.0)
    assert mean_speedup(selection, any_quality=True).value == pytest.approx(36 ** (1 / 3))
    assert median_speedup(selection) == 2.5
    assert median_speedup([a_failure()]) is None
