"""Comparison of a program's output with the expected one, element by element, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_CHUNK_ELEMENTS = 1 << 20

Scalar = float | int | bool | str
"""An element as JSON can carry it; NaN and the infinities are the strings `nan`, `inf`, `-inf`."""


@dataclass(frozen=True)
class Tolerance:
    """An element matches if |got - expected| <= atol + rtol * |expected|; 0 and 0 mean equality."""

    rtol: float
    atol: float

    def __post_init__(self) -> None:
        if not (0.0 <= self.rtol < math.inf and 0.0 <= self.atol < math.inf):
            raise ValueError(
                f"a tolerance is finite and not negative, got rtol={self.rtol}, atol={self.atol}"
            )


EXACT = Tolerance(rtol=0.0, atol=0.0)


@dataclass(frozen=True)
class Worst:
    """The element that exceeds (or comes nearest to exceeding) its tolerance by the largest absolute error.

    `abs_error` is None where it is not finite (a NaN or a wrong infinity on either side).
    """

    index: tuple[int, ...]
    got: Scalar
    expected: Scalar
    abs_error: float | None
    tolerated: float


@dataclass(frozen=True)
class Comparison:
    """Result for one output: counts, the first mismatch in C order and the worst element."""

    total: int
    mismatched: int
    max_abs_error: float | None
    first: tuple[tuple[int, ...], Scalar, Scalar] | None
    worst: Worst | None

    @property
    def ok(self) -> bool:
        """Whether every element matched."""
        return self.mismatched == 0


def scalar(value: np.generic) -> Scalar:
    """Convert one element to what JSON can carry."""
    plain = value.item()
    if isinstance(plain, float) and not math.isfinite(plain):
        return "nan" if math.isnan(plain) else ("inf" if plain > 0 else "-inf")
    return plain


def compare(got: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    """Compare two arrays of the same shape and dtype (bool, integer or floating).

    NaN never matches, not even NaN; an infinity matches the same infinity only. Errors are computed in
    float64. Integers and booleans must be equal whatever the tolerance says: it comes from the float
    outputs, and an index that is off by one is wrong. Raises ValueError if the shapes
    or dtypes differ, which the caller reports as a structural mismatch before.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"{got.dtype}{got.shape} cannot be compared with {expected.dtype}{expected.shape}")
    if not np.issubdtype(expected.dtype, np.floating):
        tolerance = EXACT
    flat_got, flat_expected = got.reshape(-1), expected.reshape(-1)
    mismatched, first_flat = 0, None
    worst_flat, worst_error = None, -1.0
    for start in range(0, flat_got.size, _CHUNK_ELEMENTS):
        part = slice(start, start + _CHUNK_ELEMENTS)
        errors, bad = _errors(flat_got[part], flat_expected[part], tolerance)
        if bad.any():
            mismatched += int(np.count_nonzero(bad))
            first_flat = start + int(np.argmax(bad)) if first_flat is None else first_flat
        largest = int(np.argmax(errors))
        if errors[largest] > worst_error:
            worst_flat, worst_error = start + largest, float(errors[largest])
    return Comparison(
        total=int(flat_got.size),
        mismatched=mismatched,
        max_abs_error=None if worst_flat is None or math.isinf(worst_error) else worst_error,
        first=None if first_flat is None else _element(got, expected, first_flat),
        worst=None if worst_flat is None else _worst(got, expected, worst_flat, worst_error, tolerance),
    )


def _errors(got: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> tuple[np.ndarray, np.ndarray]:
    """Absolute errors (float64, never NaN: infinite where not finite) and the mask of mismatches."""
    with np.errstate(invalid="ignore", over="ignore"):
        wide_got, wide_expected = got.astype(np.float64), expected.astype(np.float64)
        errors = np.abs(wide_got - wide_expected)
        errors[np.isnan(errors)] = np.inf
        equal = got == expected
        errors[equal] = 0.0
        if tolerance.rtol == 0.0 and tolerance.atol == 0.0:
            return errors, ~equal
        # An infinite expected value tolerates nothing but itself.
        limit = tolerance.atol + tolerance.rtol * np.where(
            np.isfinite(wide_expected), np.abs(wide_expected), 0.0
        )
        return errors, ~equal & ~(errors <= limit)


def _element(got: np.ndarray, expected: np.ndarray, flat: int) -> tuple[tuple[int, ...], Scalar, Scalar]:
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape)) if got.shape else ()
    return index, scalar(got.reshape(-1)[flat]), scalar(expected.reshape(-1)[flat])


def _worst(got: np.ndarray, expected: np.ndarray, flat: int, error: float, tolerance: Tolerance) -> Worst:
    index, got_value, expected_value = _element(got, expected, flat)
    magnitude = abs(float(expected.reshape(-1)[flat]))
    tolerated = tolerance.atol + (tolerance.rtol * magnitude if math.isfinite(magnitude) else 0.0)
    return Worst(index, got_value, expected_value, None if math.isinf(error) else error, tolerated)
