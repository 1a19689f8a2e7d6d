from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgelab.worker import compare as module
from edgelab.worker.compare import Tolerance, compare

EXACT = Tolerance(0.0, 0.0)
FLOATS = hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=6), elements=st.floats(width=32))


@given(FLOATS)
def test_an_array_matches_itself_except_for_nan(array: np.ndarray):
    for tolerance in (EXACT, Tolerance(1e-3, 1e-3)):
        result = compare(array.copy(), array, tolerance)
        assert result.mismatched == np.count_nonzero(np.isnan(array))
        assert result.ok == (not np.isnan(array).any())


@given(FLOATS, st.data(), st.floats(0, 1), st.floats(0, 10))
def test_agrees_with_the_definition_element_by_element(
    expected: np.ndarray, data: st.DataObject, rtol: float, atol: float
):
    got = data.draw(hnp.arrays(np.float32, expected.shape, elements=st.floats(width=32)))
    bad = []
    for index in np.ndindex(expected.shape):
        g, e = float(got[index]), float(expected[index])
        limit = atol + rtol * abs(e) if math.isfinite(e) else 0.0
        if not (g == e or abs(g - e) <= limit):
            bad.append(index)
    result = compare(got, expected, Tolerance(rtol, atol))
    assert result.mismatched == len(bad)
    assert (result.first[0] if result.first else None) == (bad[0] if bad else None)


def test_infinity_matches_only_itself():
    inf = np.array([np.inf, -np.inf, np.inf, 1.0], dtype=np.float32)
    got = np.array([np.inf, np.inf, 3e38, np.inf], dtype=np.float32)
    result = compare(got, inf, Tolerance(1.0, 1e30))
    assert (result.mismatched, result.first) == (3, ((1,), "inf", "-inf"))
    assert result.max_abs_error is None
    assert result.worst is not None
    assert result.worst.abs_error is None


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_a_tolerance_never_excuses_an_integer(dtype):
    expected = np.array([0, 1, 1, 0], dtype=dtype)
    got = np.array([0, 1, 0, 0], dtype=dtype)
    found = compare(got, expected, Tolerance(rtol=10.0, atol=10.0))
    assert found.mismatched == 1
    assert found.worst is not None
    assert found.worst.tolerated == 0.0


def test_large_integers_are_compared_exactly():
    expected = np.array([2**62, 2**62], dtype=np.int64)
    got = expected + np.array([0, 1])
    result = compare(got, expected, EXACT)
    assert (result.mismatched, result.first) == (1, ((1,), 2**62 + 1, 2**62))


def test_bool_and_scalar_and_empty_arrays():
    yes, no = np.array(True), np.array(False)
    assert compare(yes, yes, EXACT).ok
    assert compare(no, yes, EXACT).first == ((), False, True)
    empty = np.empty((0, 3), dtype=np.float32)
    result = compare(empty, empty, EXACT)
    assert (result.ok, result.total, result.worst, result.max_abs_error) == (True, 0, None, None)


def test_mismatch_beyond_the_first_chunk_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_CHUNK_ELEMENTS", 4)
    expected = np.zeros((3, 5), dtype=np.float32)
    got = expected.copy()
    got[1, 4], got[2, 3] = 1.0, 5.0
    result = compare(got, expected, Tolerance(0, 0.5))
    assert result.first == ((1, 4), 1.0, 0.0)
    assert result.worst is not None
    assert (result.worst.index, result.max_abs_error, result.mismatched) == ((2, 3), 5.0, 2)


def test_half_precision_errors_do_not_overflow():
    expected, got = np.array([60000], dtype=np.float16), np.array([-60000], dtype=np.float16)
    assert compare(got, expected, EXACT).max_abs_error == pytest.approx(120000, rel=1e-3)


def test_different_structure_is_refused():
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(np.zeros(3), np.zeros(4), EXACT)


@pytest.mark.parametrize(("rtol", "atol"), [(-1, 0), (0, math.nan), (math.inf, 0)])
def test_unusable_tolerance_is_refused(rtol: float, atol: float):
    with pytest.raises(ValueError, match="finite"):
        Tolerance(rtol, atol)
