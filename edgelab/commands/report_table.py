"""A report as text for a terminal: tables with units, physical and simulated devices apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from edgelab.bench.metrics.failures import FailureRow
from edgelab.bench.metrics.instance import OUTSIDE_SUITE, Instance
from edgelab.bench.metrics.shares import Share
from edgelab.bench.metrics.summary import SummaryRow
from edgelab.bench.report.compare import Comparison, ComparisonRow, verdict_words
from edgelab.bench.report.view import ReportView
from edgelab.quantities import UNKNOWN, interval, latency, measured_speedup, moment, size, speedup
from edgelab.visible_text import visible

PHYSICAL = "PHYSICAL DEVICES. Fast@p and GM count timings of strict quality."
SIMULATED = "SIMULATED BOARDS. Their kernels ran on this machine: not measured on the board."


def report_text(view: ReportView) -> str:
    """Return the summary as tables, empty for a report without rows."""
    return "\n".join(_sections(view))


def instances_text(view: ReportView) -> str:
    """Return a line for each instance."""
    lines: list[str] = []
    for simulated, heading in ((False, PHYSICAL), (True, SIMULATED)):
        chosen = [instance for instance in view.instances if instance.simulated is simulated]
        if chosen:
            lines += [*([""] if lines else []), heading, *_table(_INSTANCE_HEADS, map(_instance, chosen))]
    return "\n".join(lines)


def comparison_text(comparison: Comparison) -> str:
    """Return two runs side by side; notes follow the table."""
    heads = ("task", comparison.first, comparison.second, "ratio", "95 %", "verdict")
    lines = list(_table(heads, map(_comparison, comparison.rows)))
    lines += [visible(f"{row.task}: {note}") for row in comparison.rows for note in row.notes]
    return "\n".join(lines)


def level_word(level: int | None) -> str:
    """Return `L1`, `all` for a row over all levels, `own` for what is outside the suite."""
    return "all" if level is None else "own" if level == OUTSIDE_SUITE else f"L{level}"


def share_text(share: Share) -> str:
    """Return a share with its interval: `25.5 % [22.3, 29.0]`."""
    if share.share is None or share.ci95 is None:
        return UNKNOWN
    low, high = share.ci95
    return f"{share.share * 100:.1f} % [{low * 100:.1f}, {high * 100:.1f}]"


def mean_text(row: SummaryRow) -> str:
    """Return GM with its interval: `3.41× [2.90, 4.01]`."""
    mean = row.geometric_mean
    if mean.value is None:
        return UNKNOWN
    return f"{speedup(mean.value)} {interval(mean.ci95)}" if mean.ci95 else speedup(mean.value)


def _sections(view: ReportView) -> Iterator[str]:
    first = True
    for simulated, heading, totals in (
        (False, PHYSICAL, view.totals.physical),
        (True, SIMULATED, view.totals.simulated),
    ):
        rows = [row for row in view.rows if row.simulated is simulated]
        if not rows:
            continue
        yield from () if first else ("",)
        first = False
        rows += totals
        yield heading
        yield from _table(_COUNT_HEADS, map(_counts, rows))
        yield ""
        yield from _table(_SPEED_HEADS, map(_speeds, rows))
        failures = [row for row in view.failures if row.simulated is simulated and row.failed]
        if failures:
            yield ""
            yield from _failures(failures)


_PLACE_HEADS = ("device", "backend", "level", "method", "over")
_COUNT_HEADS = (*_PLACE_HEADS, "n", "missing", "not judged", "unstable", "CSR", "FCR")
_SPEED_HEADS = (*_PLACE_HEADS, "Fast@0", "Fast@1", "Fast@1.5", "Fast@2", "GM", "strict", "paired")
_INSTANCE_HEADS = (
    "task", "level", "device", "backend", "method", "over", "verdict", "speed-up", "95 %", "quality", "latency",
    "peak memory", "run", "when",
)  # fmt: skip


def _place(row: SummaryRow) -> tuple[str, ...]:
    device = row.device if row.device is not None else "total"
    return (device, row.backend or "all", level_word(row.level), row.method, row.baseline_kind)


def _counts(row: SummaryRow) -> tuple[str, ...]:
    counts = (row.instances, row.missing, row.not_judged, row.unstable)
    return (*_place(row), *map(str, counts), share_text(row.csr), share_text(row.fcr))


def _speeds(row: SummaryRow) -> tuple[str, ...]:
    fast = (share_text(one.share) for one in row.fast)
    return (*_place(row), *fast, mean_text(row), *(str(one.geometric_mean.count) for one in row.qualities))


def _failures(rows: Sequence[FailureRow]) -> Iterable[str]:
    names = list(dict.fromkeys(name for row in rows for name, count in row.classes.items() if count))
    heads = ("failures", "level", "judged", "failed", *names)
    cells = (
        (row.backend, level_word(row.level), str(row.judged), str(row.failed),
         *(str(row.classes.get(name, 0)) for name in names))
        for row in rows
    )  # fmt: skip
    return _table(heads, cells)


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
        instance.quality,
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
    ratio = measured_speedup(row.ratio, row.ratio_ci95)
    return (
        row.task,
        *sides,
        ratio,
        interval(row.ratio_ci95),
        row.change or f"both {verdict_words(row.first)}",
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    cells = [tuple(heads), *(tuple(map(visible, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
