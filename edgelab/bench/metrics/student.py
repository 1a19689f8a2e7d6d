"""Quantiles of Student's t law for whole degrees of freedom, without a numerical library."""

from __future__ import annotations

import functools
import math


def central_probability(t: float, freedom: int) -> float:
    """Return P(|T| <= t) for `freedom` >= 1 degrees of freedom.

    The finite sums 26.7.3 and 26.7.4 of Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964).
    """
    theta = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(theta), math.cos(theta) ** 2
    odd = freedom % 2 == 1
    term = total = math.cos(theta) if odd else 1.0
    for step in range(2 if odd else 1, freedom - 2, 2):
        term *= square * step / (step + 1)
        total += term
    if not odd:
        return sine * total
    return (theta + (sine * total if freedom > 1 else 0.0)) * 2 / math.pi


@functools.lru_cache(maxsize=1024)
def quantile_975(freedom: int) -> float:
    """Return t with P(|T| <= t) = 0.95. Raises ValueError below one degree of freedom."""
    if freedom < 1:
        raise ValueError(f"Student's t needs a degree of freedom, got {freedom}")
    # The largest quantile is that of one degree of freedom, 12.706.
    low, high = 1.9, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if central_probability(middle, freedom) < 0.95 else (low, middle)
    return (low + high) / 2
