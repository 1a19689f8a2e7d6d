"""A report, and two runs side by side, as lines of a screen."""

from __future__ import annotations

from edgelab.bench.report import tables
from edgelab.bench.report.compare import Comparison
from edgelab.bench.report.tables import Table
from edgelab.bench.report.view import ReportView
from edgelab.widgets.spans import Line, Span, rule, wrap

_GAP = "  "


def report_lines(view: ReportView, cells: int) -> list[Line]:
    """Return the metrics of a report, physical and simulated devices apart; tables may be wider than `cells`."""
    lines: list[Line] = []
    for simulated, heading in ((False, tables.PHYSICAL), (True, tables.SIMULATED)):
        title, _, said = heading.partition(". ")
        counts = tables.count_table(view, simulated=simulated)
        if not counts.rows:
            continue
        lines += [rule(title, cells), *_told(f"{said} {tables.SHARES}", cells), []]
        lines += [*_table(counts), [], *_table(tables.speed_table(view, simulated=simulated)), []]
        failures = tables.failure_table(view, simulated=simulated)
        if failures.rows:
            lines += [rule("Failures", cells), *_table(failures), []]
    return lines or _told("Nothing was judged yet: 2 shows the tasks, Enter runs one.", cells)


def comparison_lines(comparison: Comparison, cells: int) -> list[Line]:
    """Return two runs side by side, with what makes them hard to compare."""
    lines = [
        rule("Two runs", cells, "ratio: second over first"),
        *_table(tables.comparison_table(comparison)),
        [],
    ]
    for note in tables.comparison_notes(comparison):
        lines += [[Span(text, "warn")] for text in wrap(note, cells)]
    return lines


def _table(table: Table) -> list[Line]:
    widths = [max(map(len, column)) for column in zip(table.heads, *table.rows, strict=True)]
    head: Line = [Span(_aligned(table.heads, widths), "muted bold")]
    return [head, *([Span(_aligned(row, widths), "text")] for row in table.rows)]


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    return _GAP.join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _told(text: str, cells: int) -> list[Line]:
    return [[Span(line, "muted")] for line in wrap(text, cells)]
