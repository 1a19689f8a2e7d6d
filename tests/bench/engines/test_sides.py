"""Outputs of an engine against the expected ones, in words."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.engines.sides import difference
from edgelab.worker.compare import Tolerance

EXACT = Tolerance(0.0, 0.0)
LOOSE = Tolerance(1e-3, 1e-3)


def arrays(*values: object) -> list[np.ndarray]:
    return [np.array(value, dtype="float32") for value in values]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_equal_outputs_do_not_differ(values):
    assert difference(arrays(values), arrays(values), EXACT) == ""


def test_an_error_within_the_tolerance_is_none():
    assert difference(arrays([1.0005]), arrays([1.0]), LOOSE) == ""


def test_a_wrong_element_is_named_with_its_place():
    said = difference(arrays([1, 2], [[3, 4]]), arrays([1, 2], [[3, 5]]), LOOSE)
    assert said == (
        "output 1 differs in 1 of 2 elements, first at [0, 1]: got 4, expected 5, "
        "at worst off by 1, tolerated 0.006"
    )


def test_not_a_number_never_matches():
    assert "differs" in difference(arrays([np.nan]), arrays([np.nan]), LOOSE)


def test_number_dtype_and_shape_come_first():
    assert difference(arrays([1]), arrays([1], [2]), LOOSE) == "it returned 1 tensors, expected 2"
    assert "dtype float16, expected float32" in difference(
        [np.array([1], dtype="float16")], arrays([1]), LOOSE
    )
    assert "shape [1, 1], expected [1]" in difference(arrays([[1]]), arrays([1]), LOOSE)


def test_integers_must_be_equal_whatever_the_tolerance_says():
    assert "differs" in difference([np.array([3])], [np.array([4])], Tolerance(10.0, 10.0))
