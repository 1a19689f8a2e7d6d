"""Paired statistics: robust variation, interval of the median, quality."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgelab.bench.timing import PairStatistics, drift_interval, median_interval, robust_variation
from tests.support.statistics import some_statistics

latencies = st.lists(st.floats(1e-7, 1e2, allow_nan=False), min_size=1, max_size=60)


def test_variation_of_a_constant_series_is_zero():
    assert robust_variation([3.0] * 9) == 0


def test_variation_by_hand():
    # median 3, deviations 2 1 0 1 97 -> MAD 1
    assert robust_variation([1, 2, 3, 4, 100]) == pytest.approx(1.4826 / 3)


@pytest.mark.parametrize("series", [[], [0.0, 0.0, 0.0], [-1.0, -2.0]])
def test_variation_of_nothing_or_of_no_time_is_infinite(series):
    assert robust_variation(series) == math.inf


@given(latencies, st.floats(1e-3, 1e3))
def test_variation_does_not_depend_on_the_unit(series, factor):
    scaled = [value * factor for value in series]
    assert robust_variation(scaled) == pytest.approx(robust_variation(series), rel=1e-6, abs=1e-9)


@given(latencies)
def test_variation_ignores_less_than_half_of_the_values(series):
    assume(len(series) >= 5)
    wild = sorted(series)
    wild[-1] *= 1e6
    others = wild[:-1]
    assert robust_variation(wild) <= 1.4826 * (max(others) - min(others)) / statistics.median(wild) + 1e-9


def test_variation_estimates_the_standard_deviation_of_normal_noise():
    source = random.Random(4)
    series = [source.gauss(100, 3) for _ in range(20000)]
    assert robust_variation(series) == pytest.approx(0.03, rel=0.05)


@given(latencies)
def test_interval_holds_the_median(series):
    low, high = median_interval(series)
    assert min(series) <= low <= statistics.median(series) <= high <= max(series)


def test_interval_covers_the_true_median_as_often_as_it_says():
    source = random.Random(7)
    hits = 0
    for _ in range(1000):
        low, high = median_interval([source.lognormvariate(0, 0.5) for _ in range(41)])
        hits += low <= 1.0 <= high
    assert hits >= 940


def test_interval_narrows_with_more_pairs():
    source = random.Random(1)
    series = [source.gauss(1, 0.1) for _ in range(1600)]
    few, many = median_interval(series[:40]), median_interval(series)
    assert many[1] - many[0] < (few[1] - few[0]) / 3


def test_drift_interval_of_independent_values_is_like_the_order_statistics():
    source = random.Random(5)
    widths = []
    for _ in range(50):
        series = [source.gauss(1, 0.05) for _ in range(400)]
        (low, high), (by_drift_low, by_drift_high) = median_interval(series), drift_interval(series)
        widths.append((by_drift_high - by_drift_low) / (high - low))
    assert 0.8 < statistics.median(widths) < 1.4


def test_drift_interval_covers_what_changes_slowly():
    source = random.Random(6)
    hits = by_order = 0
    for _ in range(200):
        level, series = 0.0, []
        for index in range(400):
            if index % 40 == 0:
                level = source.gauss(0, 0.05)
            series.append(1 + level + source.gauss(0, 0.01))
        low, high = drift_interval(series)
        hits += low <= 1 <= high
        low, high = median_interval(series)
        by_order += low <= 1 <= high
    assert hits >= 180
    assert by_order < 120


def test_statistics_use_the_wider_interval():
    slow = [1.0] * 200 + [1.1] * 200
    found = PairStatistics.of([1.0] * 400, slow)
    low, high = found.speedup_ci95
    assert high - low >= 0.05


@given(latencies)
def test_drift_interval_holds_the_median(series):
    low, high = drift_interval(series)
    assert low <= statistics.median(series) <= high


def test_speedup_is_the_median_of_the_pairs_not_the_ratio_of_the_medians():
    found = PairStatistics.of([1.0, 2.0, 4.0], [2.0, 2.0, 12.0])
    assert found.speedup == 2.0
    assert found.latency_baseline_s / found.latency_candidate_s == 1.0


@given(latencies)
def test_a_program_against_itself_has_speedup_one(series):
    found = PairStatistics.of(series, series)
    assert found.speedup == 1.0
    assert found.rcv_speedup == 0


@given(latencies, st.floats(0.01, 100))
def test_shared_drift_cancels_in_the_ratio(series, factor):
    found = PairStatistics.of(series, [value * factor for value in series])
    assert found.speedup == pytest.approx(factor)
    assert found.rcv_speedup == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("candidate", "baseline"), [([], []), ([1.0], [1.0, 2.0])])
def test_unequal_or_empty_series_are_refused(candidate, baseline):
    with pytest.raises(ValueError, match="two equal series"):
        PairStatistics.of(candidate, baseline)


def test_a_block_without_time_is_refused():
    with pytest.raises(ValueError, match="no time at all"):
        PairStatistics.of([1.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("changes", "quality"),
    [
        ({}, "strict"),
        ({"speedup_ci95": (0.9, 1.1)}, "strict"),
        ({"rcv_candidate": 0.06}, "paired"),
        ({"rcv_baseline": 0.5}, "paired"),
        ({"rcv_baseline": 0.06, "speedup_ci95": (0.98, 1.0)}, "none"),
        ({"rcv_candidate": 0.06, "speedup_ci95": (1.0, 1.02)}, "none"),
        ({"rcv_speedup": 0.051}, "none"),
        ({"rcv_speedup": 0.05, "rcv_candidate": 0.05, "rcv_baseline": 0.05}, "strict"),
    ],
)
def test_quality(changes, quality):
    assert some_statistics(**changes).quality == quality
