"""The geometric mean speed-up and its interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import msgspec

from edgelab.bench.metrics.instance import Instance
from edgelab.bench.metrics.shares import counted_speedups
from edgelab.bench.metrics.student import quantile_975


class GeometricMean(msgspec.Struct, frozen=True):
    """Geometric mean over `count` speed-ups. `value` is None without any, `ci95` below two."""

    count: int
    value: float | None
    ci95: tuple[float, float] | None


def geometric_mean(values: Sequence[float]) -> GeometricMean:
    """Return exp(mean(ln x)) and its 95 % interval exp(m +- t * s / sqrt(n)).

    m and s are mean and standard deviation of ln x, t the 97.5 % quantile of Student's t with n - 1
    degrees of freedom: the t interval of W. S. Gosset ("The probable error of a mean", Biometrika 6
    (1908), 1-25) on the logarithms. It takes the logarithms to be roughly normal, and speaks of how
    speed-ups differ between tasks, not of how exactly each was measured.

    Raises ValueError for values that are not positive and finite.
    """
    if any(not (math.isfinite(value) and value > 0) for value in values):
        raise ValueError("a geometric mean needs positive finite values")
    count = len(values)
    if count == 0:
        return GeometricMean(0, None, None)
    # `fsum` is exact, so the order of the instances cannot change a digit.
    logarithms = [math.log(value) for value in values]
    mean = math.fsum(logarithms) / count
    if count == 1:
        return GeometricMean(1, math.exp(mean), None)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in logarithms) / (count - 1))
    half = quantile_975(count - 1) * deviation / math.sqrt(count)
    return GeometricMean(count, math.exp(mean), (math.exp(mean - half), math.exp(mean + half)))


def mean_speedup(instances: Iterable[Instance], *, any_quality: bool = False) -> GeometricMean:
    """Return GM over the correct instances whose timing counts; `any_quality` as for `fast_share`."""
    return geometric_mean(counted_speedups(instances, any_quality=any_quality))


def median_speedup(instances: Iterable[Instance]) -> float | None:
    """Return the median over the same speed-ups, None without any."""
    speedups = counted_speedups(instances)
    return statistics.median(speedups) if speedups else None
