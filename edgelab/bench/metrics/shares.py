"""Shares of instances that compiled, are correct, or are faster than p, each with a Wilson interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from edgelab.bench.metrics.instance import Instance

NORMAL_975 = 1.959964
"""97.5 % quantile of the normal law."""


class Share(msgspec.Struct, frozen=True):
    """`count` of `total` instances. `share` and `ci95` are None where the total is 0: nothing is known."""

    count: int
    total: int
    share: float | None
    ci95: tuple[float, float] | None


class CurvePoint(msgspec.Struct, frozen=True):
    """Fast@p at one threshold `p`."""

    p: float
    share: float


def wilson_interval(count: int, total: int) -> tuple[float, float] | None:
    """Return the 95 % score interval of a share, None for a total of 0.

    With n = total, x = count / n and z the 97.5 % normal quantile it is
    (x + z^2/2n +- z * sqrt(x(1-x)/n + z^2/4n^2)) / (1 + z^2/n): E. B. Wilson, "Probable inference, the law
    of succession, and statistical inference", JASA 22 (1927), 209-212. Unlike x +- z * sqrt(x(1-x)/n) it
    stays inside [0, 1] and has a width at x = 0 and x = 1.

    Raises ValueError unless 0 <= count <= total.
    """
    if not 0 <= count <= total:
        raise ValueError(f"a share needs 0 <= count <= total, got {count} of {total}")
    if total == 0:
        return None
    share, square = count / total, NORMAL_975**2
    middle = share + square / (2 * total)
    spread = NORMAL_975 * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    scale = 1 + square / total
    # At the ends the formula gives exactly 0 and 1; rounding must not put the estimate outside.
    return (min(max((middle - spread) / scale, 0.0), share), max(min((middle + spread) / scale, 1.0), share))


def share_of(count: int, total: int) -> Share:
    """Return `count` of `total` with its interval. Raises ValueError as `wilson_interval` does."""
    return Share(count, total, count / total if total else None, wilson_interval(count, total))


def compiled_share(instances: Iterable[Instance]) -> Share:
    """Return CSR, the share of judged instances that compiled. A missing instance did not."""
    judged = [instance for instance in instances if instance.judged]
    return share_of(sum(instance.compiled for instance in judged), len(judged))


def correct_share(instances: Iterable[Instance]) -> Share:
    """Return FCR, the share of judged instances that are correct."""
    judged = [instance for instance in instances if instance.judged]
    return share_of(sum(instance.correct for instance in judged), len(judged))


def fast_share(instances: Iterable[Instance], p: float, *, any_quality: bool = False) -> Share:
    """Return Fast@p, the share of judged instances that are correct with a valid timing and a speed-up > p.

    Fast@0 is the share with a valid timing. An unstable instance is in the denominator only. With
    `any_quality` the timings of `paired` quality on physical devices count too.
    """
    judged = [instance for instance in instances if instance.judged]
    fast = sum(speedup > p for speedup in counted_speedups(judged, any_quality=any_quality))
    return share_of(fast, len(judged))


def clearly_faster_share(instances: Iterable[Instance]) -> Share:
    """Return the share of judged instances whose timing counts and whose 95 % interval lies above 1.

    Not a metric of the protocol, whose Fast@1 takes the median alone: a program timed against itself is
    above 1 half of the time.
    """
    judged = [instance for instance in instances if instance.judged]
    clear = sum(bool(instance.counts and instance.ci95 and instance.ci95[0] > 1) for instance in judged)
    return share_of(clear, len(judged))


def fast_curve(instances: Iterable[Instance]) -> tuple[CurvePoint, ...]:
    """Return Fast@p as a step function: each point holds from its `p` up to the next point's.

    It begins at p = 0 and ends with share 0 at the largest speed-up; empty where nothing was judged.
    """
    judged = [instance for instance in instances if instance.judged]
    if not judged:
        return ()
    speedups = counted_speedups(judged)
    thresholds = [0.0, *sorted(set(speedups))]
    return tuple(CurvePoint(p, sum(speedup > p for speedup in speedups) / len(judged)) for p in thresholds)


def counted_speedups(instances: Iterable[Instance], *, any_quality: bool = False) -> Sequence[float]:
    """Return the median speed-ups of the instances whose timing counts."""
    return [
        instance.speedup
        for instance in instances
        if instance.speedup is not None and (instance.timed if any_quality else instance.counts)
    ]
