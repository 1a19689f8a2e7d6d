"""The tables of a report as text cells with units, for the terminal, the page and a screen alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from edgelab.bench.metrics.failures import FailureRow, classes_found
from edgelab.bench.metrics.instance import OUTSIDE_SUITE, Instance
from edgelab.bench.metrics.pareto import ParetoPoint
from edgelab.bench.metrics.shares import Share
from edgelab.bench.metrics.speedups import GeometricMean
from edgelab.bench.metrics.summary import THRESHOLDS, SummaryRow
from edgelab.bench.report.compare import Comparison, ComparisonRow, verdict_words
from edgelab.bench.report.view import ReportView
from edgelab.quantities import UNKNOWN, interval, latency, measured_speedup, moment, size, speedup
from edgelab.visible_text import visible

PHYSICAL = "Physical devices. Fast@p and GM count timings of strict quality."
SIMULATED = "Simulated boards. Their kernels ran on this machine: not measured on the board."
SHARES = (
    "Shares are of all n but the not judged, with 95 % intervals; a missing instance counts as not compiled."
)

_PLACE = ("device", "backend", "level", "method", "over")


class Table(msgspec.Struct, frozen=True):
    """Heads and rows of cells, fit to be shown: nothing in them acts on a terminal."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    return Table(tuple(heads), tuple(tuple(map(visible, row)) for row in rows))


def level_word(level: int | None) -> str:
    """Return `L1`, `all` for a row over all levels, `own` for what is outside the suite."""
    return "all" if level is None else "own" if level == OUTSIDE_SUITE else f"L{level}"


def share_text(share: Share) -> str:
    """Return a share with its interval: `25.5 % [22.3, 29.0]`."""
    if share.share is None or share.ci95 is None:
        return UNKNOWN
    low, high = share.ci95
    return f"{share.share * 100:.1f} % [{low * 100:.1f}, {high * 100:.1f}]"


def mean_text(mean: GeometricMean) -> str:
    """Return a mean with its interval: `3.41× [2.90, 4.01]`."""
    if mean.value is None or mean.ci95 is None:
        return speedup(mean.value)
    return f"{measured_speedup(mean.value, mean.ci95)} {interval(mean.ci95)}"


def count_table(view: ReportView, *, simulated: bool) -> Table:
    """How many instances there are and why some have no result, CSR and FCR; the totals last."""
    heads = (*_PLACE, "n", "missing", "not judged", "unstable", "CSR", "FCR")
    return _table(heads, map(_counts, _rows(view, simulated)))


def speed_table(view: ReportView, *, simulated: bool) -> Table:
    """Fast@p, the share clearly faster, GM, and how many timings there are of each quality; totals last."""
    thresholds = (f"Fast@{p:g}" for p in THRESHOLDS)
    heads = (*_PLACE, *thresholds, "clearly > 1×", "GM", "strict", "paired")
    return _table(heads, map(_speeds, _rows(view, simulated)))


def failure_table(view: ReportView, *, simulated: bool) -> Table:
    """Failures by backend and level, a column for each class that occurred; no rows without failures."""
    rows = [row for row in view.failures if row.simulated is simulated and row.failed]
    names = classes_found(rows)
    heads = ("backend", "level", "judged", "failed", *map(visible, names))
    return _table(heads, (_failures(row, names) for row in rows))


def instance_table(view: ReportView, *, simulated: bool) -> Table:
    """Every instance, the missing ones too."""
    heads = (
        "task", "level", "device", "backend", "method", "over", "verdict", "speed-up", "95 %", "quality",
        "latency", "peak memory", "run", "when",
    )  # fmt: skip
    return _table(heads, map(_instance, (one for one in view.instances if one.simulated is simulated)))


def pareto_table(points: Iterable[ParetoPoint]) -> Table:
    """The programs of Pareto charts."""
    rows = (
        (point.task, point.method, latency(point.latency_s), size(point.peak_memory_bytes),
         "on the front" if point.on_front else "dominated", point.run)
        for point in points
    )  # fmt: skip
    return _table(("task", "method", "latency", "peak memory", "Pareto", "run"), rows)


def comparison_table(comparison: Comparison) -> Table:
    """Two runs side by side; `comparison_notes` belong below."""
    heads = ("task", comparison.first, comparison.second, "ratio", "95 %", "verdict")
    return _table(heads, map(_comparison, comparison.rows))


def comparison_notes(comparison: Comparison) -> tuple[str, ...]:
    """What makes the two sides of a row hard to compare."""
    return tuple(visible(f"{row.task}: {note}") for row in comparison.rows for note in row.notes)


def _rows(view: ReportView, simulated: bool) -> list[SummaryRow]:
    totals = view.totals.simulated if simulated else view.totals.physical
    return [*(row for row in view.rows if row.simulated is simulated), *totals]


def _place(row: SummaryRow) -> tuple[str, ...]:
    device = row.device if row.device is not None else "total"
    return (device, row.backend or "all", level_word(row.level), row.method, row.baseline_kind)


def _counts(row: SummaryRow) -> tuple[str, ...]:
    counts = (row.instances, row.missing, row.not_judged, row.unstable)
    return (*_place(row), *map(str, counts), share_text(row.csr), share_text(row.fcr))


def _speeds(row: SummaryRow) -> tuple[str, ...]:
    fast = (share_text(one.share) for one in row.fast)
    timings = (str(one.geometric_mean.count) for one in row.qualities)
    clear = share_text(row.clearly_faster)
    return (*_place(row), *fast, clear, mean_text(row.geometric_mean), *timings)


def _failures(row: FailureRow, names: Iterable[str]) -> tuple[str, ...]:
    counts = (str(row.classes.get(name, 0)) for name in names)
    return (row.backend, level_word(row.level), str(row.judged), str(row.failed), *counts)


def _instance(instance: Instance) -> tuple[str, ...]:
    return (
        instance.task,
        level_word(instance.level),
        instance.device,
        instance.backend,
        instance.method,
        instance.baseline_kind,
        verdict_words(instance),
        measured_speedup(instance.speedup, instance.ci95),
        interval(instance.ci95),
        instance.quality if instance.quality != "none" else UNKNOWN,
        latency(instance.latency_s),
        size(instance.peak_memory_bytes),
        instance.run or UNKNOWN,
        moment(instance.when_s),
    )


def _comparison(row: ComparisonRow) -> tuple[str, ...]:
    sides = (
        f"{measured_speedup(side.speedup, side.ci95)} {interval(side.ci95)}"
        if side and side.timed
        else verdict_words(side)
        for side in (row.first, row.second)
    )
    verdict = row.change or f"both {verdict_words(row.first)}"
    return (row.task, *sides, measured_speedup(row.ratio, row.ratio_ci95), interval(row.ratio_ci95), verdict)
