"""How far a candidate's output may lie from PyTorch's: an error model, and the comparison that uses it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from edgelab.drivers.worker_messages import Tolerance

ROUNDING_MULTIPLE = 16.0
"""Multiple of eps * sqrt(reduction length) that a legitimate reordering or algorithm change may cost.

Rounding errors of a sum of K terms grow like eps * sqrt(K) relative to the sum's scale (Higham, Accuracy and
Stability of Numerical Algorithms, section 4.2, with rounding errors taken as independent). The multiple leaves
room for Winograd convolutions, fast approximations of exp and erf, and the largest of many outputs.
"""

MEASURED_MULTIPLE = 16.0
"""Multiple of the error that PyTorch's own float32 result has against the float64 one."""

SHORTEST_REDUCTION = 25
"""Reductions shorter than this are treated as this long: elementwise code approximates functions, too."""


class OutputErrors(msgspec.Struct, frozen=True):
    """What is known of one float output over all seeds.

    `rms` is the root mean square of its finite values, `max_error` the largest |float32 - float64| among them,
    None where the model has no float64 form. `dtype` is numpy's name of the output's dtype.
    """

    dtype: str
    rms: float
    max_error: float | None


def relative_bound(dtype: str, reduction_length: int, relative_error: float) -> float:
    """Return the error, relative to an output's root mean square, that a correct program may have.

    `relative_error` is the measured error on the same scale. Half-precision outputs are taken to be
    accumulated in float32 and rounded at the end, so that a long reduction does not excuse anything.
    """
    eps = float(np.finfo(dtype).eps)
    single = float(np.finfo(np.float32).eps)
    steps = math.sqrt(max(reduction_length, SHORTEST_REDUCTION))
    rounding = ROUNDING_MULTIPLE * min(eps, single) * steps + (4 * eps if eps > single else 0.0)
    return max(rounding, MEASURED_MULTIPLE * relative_error)


def tolerance_of(outputs: Sequence[OutputErrors], reduction_length: int) -> Tolerance:
    """Return the tolerance of a task from the errors of its float outputs; exact when it has none.

    The absolute part scales with the outputs, so that a small output is not matched by zeros.
    """
    rtol = atol = 0.0
    for output in outputs:
        scale = output.rms or 1.0
        bound = relative_bound(output.dtype, reduction_length, (output.max_error or 0.0) / scale)
        rtol = max(rtol, bound)
        atol = max(atol, bound * output.rms)
    return Tolerance(rtol=rtol, atol=atol)


def mismatched(got: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Return a boolean array of the shape of both: True where `got` does not match `expected`.

    NaN never matches, an infinity matches only itself. Integers and booleans must be equal. The comparison is
    done in float64, which holds every float32 exactly. Raises ValueError if the shapes differ.
    """
    if got.shape != expected.shape:
        raise ValueError(f"shapes differ: {got.shape} and {expected.shape}")
    if not np.issubdtype(expected.dtype, np.floating):
        return np.asarray(got != expected)
    got64, expected64 = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(got64 - expected64)
        # An infinite expectation would otherwise tolerate everything.
        allowed = tolerance.atol + tolerance.rtol * np.where(np.isfinite(expected64), np.abs(expected64), 0.0)
        matches = (got64 == expected64) | (error <= allowed)
    return np.asarray(~matches)
