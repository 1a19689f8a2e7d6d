"""Paired timing: robust statistics, measurement quality, and when enough pairs were taken.

The rule is the EdgeKernelBench protocol's: candidate and baseline alternate in one device session and
every pair gives one speed-up; what is reported is the median over the pairs. The ratio cancels drift
that both sides share, so a measurement carries the quality it reached instead of one pass or fail.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

import msgspec

from edgelab.results import Quality

RCV_LIMIT = 0.05
"""Largest robust coefficient of variation of a stable series (EdgeKernelBench: 5 %)."""

INTERVAL_LIMIT = 0.01
"""Largest half-width of the speed-up median's 95 % interval, relative to the median."""


def robust_variation(values: Sequence[float]) -> float:
    """Return rCV = 1.4826 * median|x - median(x)| / median(x); infinity for an empty or zero series.

    1.4826 makes the median absolute deviation estimate the standard deviation of a normal law.
    """
    if not values:
        return math.inf
    middle = statistics.median(values)
    if middle <= 0:
        return math.inf
    return 1.4826 * statistics.median([abs(value - middle) for value in values]) / middle


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median by order statistics (binomial ranks, normal quantile).

    Free of any law of the values. Below six values no pair of ranks covers 95 %: the interval is
    then the whole range.
    """
    ordered = sorted(values)
    count = len(ordered)
    if count == 0:
        return (math.nan, math.nan)
    spread = 1.959964 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - spread) - 1)
    high = min(count - 1, math.ceil(count / 2 + spread))
    return (ordered[low], ordered[high])


_SEGMENTS = 10
_STUDENT_T = 2.262
"""97.5 % quantile of Student's t for nine degrees of freedom."""


def drift_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median from the medians of ten consecutive segments (batch means).

    Order statistics take the values to be independent. On a busy machine they are not: one side can be
    slower for a while. Medians of segments that disagree more than independent values would show it.
    Below twenty values the whole range is returned.
    """
    count = len(values)
    if count < 2 * _SEGMENTS:
        return (min(values), max(values)) if values else (math.nan, math.nan)
    bounds = [count * segment // _SEGMENTS for segment in range(_SEGMENTS + 1)]
    medians = [statistics.median(values[low:high]) for low, high in itertools.pairwise(bounds)]
    half = _STUDENT_T * statistics.stdev(medians) / math.sqrt(_SEGMENTS)
    middle = statistics.median(values)
    return (middle - half, middle + half)


class PairStatistics(msgspec.Struct, frozen=True):
    """Statistics over all pairs of one measurement. Latencies in seconds, rCVs as shares."""

    pairs: int
    latency_candidate_s: float
    latency_baseline_s: float
    speedup: float
    speedup_ci95: tuple[float, float]
    rcv_candidate: float
    rcv_baseline: float
    rcv_speedup: float

    @classmethod
    def of(cls, candidate_s: Sequence[float], baseline_s: Sequence[float]) -> PairStatistics:
        """Compute from two series of equal length; entry i of both is pair i.

        Raises ValueError for series of unequal length, empty series and times that are not positive.
        """
        if len(candidate_s) != len(baseline_s) or not candidate_s:
            raise ValueError(f"pairs need two equal series, got {len(candidate_s)} and {len(baseline_s)}")
        if min(*candidate_s, *baseline_s) <= 0:
            raise ValueError("a block took no time at all: the clock cannot resolve it")
        speedups = [baseline / candidate for candidate, baseline in zip(candidate_s, baseline_s, strict=True)]
        return cls(
            pairs=len(speedups),
            latency_candidate_s=statistics.median(candidate_s),
            latency_baseline_s=statistics.median(baseline_s),
            speedup=statistics.median(speedups),
            speedup_ci95=_wider(median_interval(speedups), drift_interval(speedups)),
            rcv_candidate=robust_variation(candidate_s),
            rcv_baseline=robust_variation(baseline_s),
            rcv_speedup=robust_variation(speedups),
        )

    @property
    def interval_half_width(self) -> float:
        """How far the 95 % interval reaches from the median speed-up, as a share of it."""
        low, high = self.speedup_ci95
        return max(self.speedup - low, high - self.speedup) / self.speedup

    @property
    def interval_is_narrow(self) -> bool:
        """Whether the 95 % interval of the median speed-up lies within +- 1 % of it."""
        return self.interval_half_width <= INTERVAL_LIMIT

    @property
    def quality(self) -> Quality:
        """`strict`: all three rCVs hold. `paired`: the ratio's rCV and its interval hold. Else `none`."""
        if self.rcv_speedup > RCV_LIMIT:
            return "none"
        if max(self.rcv_candidate, self.rcv_baseline) <= RCV_LIMIT:
            return "strict"
        return "paired" if self.interval_is_narrow else "none"


def _wider(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    return (min(first[0], second[0]), max(first[1], second[1]))
