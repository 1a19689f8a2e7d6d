"""Paired timing: robust statistics, measurement quality, and when enough pairs were taken.

The rule is the EdgeKernelBench protocol's: candidate and baseline alternate in one device session and
every pair gives one speed-up; what is reported is the median over the pairs. The ratio cancels drift
that both sides share, so a measurement carries the quality it reached instead of one pass or fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from edgelab.results import Quality

RCV_LIMIT = 0.05
"""Largest robust coefficient of variation of a stable series (EdgeKernelBench: 5 %)."""

INTERVAL_LIMIT = 0.01
"""Largest half-width of the speed-up median's 95 % interval, relative to the median."""


Series = Sequence[float] | npt.NDArray[np.float64]
"""Values of one quantity, pair by pair."""


def robust_variation(values: Series) -> float:
    """Return rCV = 1.4826 * median|x - median(x)| / median(x); infinity for an empty or zero series.

    1.4826 makes the median absolute deviation estimate the standard deviation of a normal law.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.size == 0:
        return math.inf
    middle = float(np.median(series))
    if middle <= 0:
        return math.inf
    return 1.4826 * float(np.median(np.abs(series - middle))) / middle


def median_interval(values: Series) -> tuple[float, float]:
    """Return the 95 % interval of the median by order statistics (binomial ranks, normal quantile).

    Free of any law of the values. Below six values no pair of ranks covers 95 %: the interval is
    then the whole range.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = ordered.size
    if count == 0:
        return (math.nan, math.nan)
    spread = 1.959964 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - spread) - 1)
    high = min(count - 1, math.ceil(count / 2 + spread))
    return (float(ordered[low]), float(ordered[high]))


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
        candidate = np.asarray(candidate_s, dtype=np.float64)
        baseline = np.asarray(baseline_s, dtype=np.float64)
        if candidate.shape != baseline.shape or candidate.size == 0:
            raise ValueError(f"pairs need two equal series, got {candidate.size} and {baseline.size}")
        if not (np.all(candidate > 0) and np.all(baseline > 0)):
            raise ValueError("a block took no time at all: the clock cannot resolve it")
        speedups = baseline / candidate
        return cls(
            pairs=candidate.size,
            latency_candidate_s=float(np.median(candidate)),
            latency_baseline_s=float(np.median(baseline)),
            speedup=float(np.median(speedups)),
            speedup_ci95=median_interval(speedups),
            rcv_candidate=robust_variation(candidate),
            rcv_baseline=robust_variation(baseline),
            rcv_speedup=robust_variation(speedups),
        )

    @property
    def interval_is_narrow(self) -> bool:
        """Whether the 95 % interval of the median speed-up lies within +- 1 % of it."""
        low, high = self.speedup_ci95
        return low >= self.speedup * (1 - INTERVAL_LIMIT) and high <= self.speedup * (1 + INTERVAL_LIMIT)

    @property
    def quality(self) -> Quality:
        """`strict`: all three rCVs hold. `paired`: the ratio's rCV and its interval hold. Else `none`."""
        if self.rcv_speedup > RCV_LIMIT:
            return "none"
        if max(self.rcv_candidate, self.rcv_baseline) <= RCV_LIMIT:
            return "strict"
        return "paired" if self.interval_is_narrow else "none"


class TimingPolicy(msgspec.Struct, frozen=True):
    """How much timing a measurement may take.

    A block is `warm_calls` untimed calls and then timed calls for about `block_s`: single calls for
    long kernels, several where one call is near the clock's and the pipe's resolution.
    """

    min_pairs: int = 40
    max_pairs: int = 2000
    block_s: float = 0.001
    batch_s: float = 0.25
    max_time_s: float = 30.0
    warm_up_s: float = 0.1
    warm_calls: int = 1
    min_long_pairs: int = 12

    def calls_per_block(self, latency_s: float) -> int:
        """Return how many timed calls make a block for calls of `latency_s`."""
        return max(1, round(self.block_s / max(latency_s, 1e-7)))

    def warm_calls_per_block(self, latency_s: float) -> int:
        """Return the untimed calls that begin a block; long calls warm themselves."""
        return self.warm_calls if latency_s < self.block_s * 10 else 0

    def pairs_per_batch(self, latency_s: float) -> int:
        """Return how many pairs to time before the statistics are looked at again."""
        calls = self.calls_per_block(latency_s) + self.warm_calls_per_block(latency_s)
        return max(2, min(200, int(self.batch_s / (2 * calls * max(latency_s, 1e-7)))))

    def is_enough(self, statistics: PairStatistics, elapsed_s: float) -> bool:
        """Whether timing may stop: the quality holds with a narrow interval, or a cap is reached."""
        if self.is_capped(statistics, elapsed_s):
            return True
        if statistics.pairs < self.min_pairs:
            return False
        return statistics.quality != "none" and statistics.interval_is_narrow

    def is_capped(self, statistics: PairStatistics, elapsed_s: float) -> bool:
        """Whether the pairs or the time are used up (long calls still get `min_long_pairs`)."""
        if statistics.pairs >= self.max_pairs:
            return True
        return elapsed_s >= self.max_time_s and statistics.pairs >= self.min_long_pairs
