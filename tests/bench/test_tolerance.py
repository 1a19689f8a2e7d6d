from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgelab.bench.tolerance import OutputErrors, mismatched, relative_bound, tolerance_of
from edgelab.drivers.worker_messages import Tolerance

EXACT = Tolerance(0.0, 0.0)
LOOSE = Tolerance(rtol=1e-3, atol=1e-3)


def test_longer_reductions_get_more_room():
    assert relative_bound("float32", 10_000, 0.0) > relative_bound("float32", 100, 0.0)


def test_short_reductions_get_room_for_approximated_functions():
    assert relative_bound("float32", 1, 0.0) == relative_bound("float32", 25, 0.0) > 5e-6


def test_measured_error_raises_the_bound():
    assert relative_bound("float32", 1, 1e-3) == pytest.approx(16e-3)


def test_half_precision_is_not_excused_by_its_reduction_length():
    # fp16 accumulates in float32: a reduction of a million terms must not allow an error of 100 %.
    assert relative_bound("float16", 1_000_000, 0.0) < 0.01


def test_double_precision_has_a_tight_bound():
    assert relative_bound("float64", 100, 0.0) < 1e-12


@pytest.mark.parametrize("terms", [27, 576, 2048, 5632])
def test_rounding_to_half_precision_inside_is_not_tolerated(terms: int):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((64, terms)), rng.standard_normal((terms, 64))
    expected = (a @ b).astype(np.float32)
    rounded = (a.astype(np.float16).astype(np.float64) @ b.astype(np.float16)).astype(np.float32)
    error = float(np.abs(expected - a @ b).max())
    rms = float(np.sqrt(np.mean(expected.astype(np.float64) ** 2)))
    tolerance = tolerance_of([OutputErrors("float32", rms, error)], terms)
    assert mismatched(rounded, expected, tolerance).mean() > 0.3


@pytest.mark.parametrize("terms", [27, 576, 2048, 5632])
def test_another_order_of_summation_is_tolerated(terms: int):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((64, terms), np.float32), rng.standard_normal((terms, 64), np.float32)
    sequential = np.zeros((64, 64), np.float32)
    for k in range(terms):
        sequential += a[:, k : k + 1] * b[k]
    expected = a @ b
    rms = float(np.sqrt(np.mean(expected.astype(np.float64) ** 2)))
    tolerance = tolerance_of([OutputErrors("float32", rms, None)], terms)
    assert not mismatched(sequential, expected, tolerance).any()


def test_task_without_float_outputs_is_exact():
    assert tolerance_of([], 151_936) == EXACT


def test_absolute_part_scales_with_the_output():
    small = tolerance_of([OutputErrors("float32", 1e-3, None)], 1)
    large = tolerance_of([OutputErrors("float32", 1e3, None)], 1)
    assert large.atol == pytest.approx(1e6 * small.atol)
    assert large.rtol == small.rtol


def test_output_of_zeros_does_not_divide_by_zero():
    assert tolerance_of([OutputErrors("float32", 0.0, 0.0)], 1).atol == 0.0


def test_nan_never_matches():
    nan = np.array([np.nan, 1.0], np.float32)
    assert mismatched(nan, nan, LOOSE).tolist() == [True, False]


def test_infinity_matches_only_itself():
    expected = np.array([np.inf, np.inf, -np.inf, 1.0], np.float32)
    got = np.array([np.inf, 1e30, np.inf, np.inf], np.float32)
    assert mismatched(got, expected, LOOSE).tolist() == [False, True, True, True]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8"])
def test_integers_are_exact_whatever_the_tolerance(dtype: str):
    expected = np.array([100, 0], dtype)
    assert mismatched(expected + np.array([1, 0], dtype), expected, Tolerance(1.0, 10.0)).tolist() == [
        True,
        False,
    ]


def test_booleans_are_exact():
    assert mismatched(np.array([True, True]), np.array([True, False]), Tolerance(1.0, 10.0)).tolist() == [
        False,
        True,
    ]


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match="shapes differ"):
        mismatched(np.zeros(1), np.zeros((1, 1)), LOOSE)


@given(hnp.arrays(np.float32, 8, elements=st.floats(width=32, allow_nan=False)))
def test_everything_but_nan_matches_itself(values: np.ndarray):
    assert not mismatched(values, values.copy(), EXACT).any()


@given(
    st.floats(-1e6, 1e6, width=32),
    st.floats(-1e6, 1e6, width=32),
)
def test_comparison_is_that_of_its_formula(got: float, expected: float):
    tolerated = LOOSE.atol + LOOSE.rtol * abs(expected)
    result = mismatched(np.array([got], np.float32), np.array([expected], np.float32), LOOSE)
    assert result[0] == (abs(got - expected) > tolerated)
