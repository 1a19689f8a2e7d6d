"""The rows of a report: the protocol's metrics by backend and level, and in total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from edgelab.bench.metrics.instance import OUTSIDE_SUITE, Instance
from edgelab.bench.metrics.shares import (
    Share,
    clearly_faster_share,
    compiled_share,
    correct_share,
    fast_share,
)
from edgelab.bench.metrics.speedups import GeometricMean, mean_speedup, median_speedup

THRESHOLDS = (0.0, 1.0, 1.5, 2.0)
"""The p of Fast@p in rows; charts show the whole curve."""


class FastShare(msgspec.Struct, frozen=True):
    """Fast@p at one threshold."""

    p: float
    share: Share


class QualityCount(msgspec.Struct, frozen=True):
    """Timings of one quality: how many, and their geometric mean."""

    quality: str
    geometric_mean: GeometricMean


class SummaryRow(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one group of instances. `backend`, `device` and `level` are None where a row is over all.

    Of `instances`, `missing` have no result and `not_judged` are left out of every denominator
    (`judged` = instances - not_judged). `unstable` are correct without a valid timing. `fast` is the
    headline; `fast_any_quality` also takes `paired` timings of physical devices. `clearly_faster` is the
    share whose whole interval is above 1. `qualities` lists what was timed by quality.
    """

    simulated: bool
    method: str
    baseline_kind: str
    device: str | None
    backend: str | None
    level: int | None
    instances: int
    judged: int
    missing: int
    not_judged: int
    unstable: int
    csr: Share
    fcr: Share
    fast: tuple[FastShare, ...]
    fast_any_quality: tuple[FastShare, ...]
    clearly_faster: Share
    geometric_mean: GeometricMean
    median_speedup: float | None
    qualities: tuple[QualityCount, ...]


class Totals(msgspec.Struct, frozen=True):
    """Totals over the suite, a row for each method and kind of baseline; the two kinds of device never mix."""

    physical: tuple[SummaryRow, ...] = ()
    simulated: tuple[SummaryRow, ...] = ()


def summary_rows(instances: Iterable[Instance]) -> tuple[SummaryRow, ...]:
    """Return rows by (simulated, device, backend, method, baseline kind): each level, then all of them.

    Level 0 holds what is outside the suite: it has a row of its own and is in no row over all levels.
    """
    groups: dict[tuple[bool, str, str, str, str], list[Instance]] = {}
    for instance in instances:
        key = (instance.simulated, instance.device, instance.backend, instance.method, instance.baseline_kind)
        groups.setdefault(key, []).append(instance)
    rows: list[SummaryRow] = []
    for key in sorted(groups):
        group = groups[key]
        levels = sorted({instance.level for instance in group} - {OUTSIDE_SUITE})
        rows += [
            _row([instance for instance in group if instance.level == level], level=level) for level in levels
        ]
        if len(levels) > 1:
            rows.append(_row(_suite(group)))
        if outside := [instance for instance in group if instance.level == OUTSIDE_SUITE]:
            rows.append(_row(outside, level=OUTSIDE_SUITE))
    return tuple(rows)


def totals(instances: Iterable[Instance]) -> Totals:
    """Return totals over all devices, backends and levels of the suite."""
    groups: dict[tuple[bool, str, str], list[Instance]] = {}
    for instance in _suite(instances):
        key = (instance.simulated, instance.method, instance.baseline_kind)
        groups.setdefault(key, []).append(instance)
    rows = {key: _row(groups[key], over_devices=True) for key in sorted(groups)}
    return Totals(
        physical=tuple(row for key, row in rows.items() if not key[0]),
        simulated=tuple(row for key, row in rows.items() if key[0]),
    )


def _suite(instances: Iterable[Instance]) -> list[Instance]:
    return [instance for instance in instances if instance.level != OUTSIDE_SUITE]


def _row(
    instances: Sequence[Instance], *, level: int | None = None, over_devices: bool = False
) -> SummaryRow:
    first, verdicts = instances[0], Counter(instance.verdict for instance in instances)
    return SummaryRow(
        simulated=first.simulated,
        method=first.method,
        baseline_kind=first.baseline_kind,
        device=None if over_devices else first.device,
        backend=None if over_devices else first.backend,
        level=level,
        instances=len(instances),
        judged=sum(instance.judged for instance in instances),
        missing=verdicts["missing"],
        not_judged=verdicts["not_judged"],
        unstable=verdicts["unstable"],
        csr=compiled_share(instances),
        fcr=correct_share(instances),
        fast=tuple(FastShare(p, fast_share(instances, p)) for p in THRESHOLDS),
        fast_any_quality=tuple(FastShare(p, fast_share(instances, p, any_quality=True)) for p in THRESHOLDS),
        clearly_faster=clearly_faster_share(instances),
        geometric_mean=mean_speedup(instances),
        median_speedup=median_speedup(instances),
        qualities=_qualities(instances),
    )


def _qualities(instances: Sequence[Instance]) -> tuple[QualityCount, ...]:
    return tuple(
        QualityCount(
            quality,
            mean_speedup(
                [instance for instance in instances if instance.quality == quality], any_quality=True
            ),
        )
        for quality in ("strict", "paired")
    )
