"""A report as text for a terminal: aligned tables, physical and simulated devices apart."""

from __future__ import annotations

from edgelab.bench.report import tables
from edgelab.bench.report.compare import Comparison
from edgelab.bench.report.tables import Table
from edgelab.bench.report.view import ReportView


def report_text(view: ReportView) -> str:
    """Return the summary as tables, empty for a report without rows."""
    blocks: list[str] = []
    for simulated, heading in ((False, tables.PHYSICAL), (True, tables.SIMULATED)):
        counts = tables.count_table(view, simulated=simulated)
        if not counts.rows:
            continue
        blocks.append(f"{heading}\n{tables.SHARES}")
        blocks += [_aligned(counts), _aligned(tables.speed_table(view, simulated=simulated))]
        failures = tables.failure_table(view, simulated=simulated)
        if failures.rows:
            blocks.append(f"Failures, instances of each class\n{_aligned(failures)}")
    return "\n\n".join(blocks)


def instances_text(view: ReportView) -> str:
    """Return a line for each instance."""
    blocks: list[str] = []
    for simulated, heading in ((False, tables.PHYSICAL), (True, tables.SIMULATED)):
        found = tables.instance_table(view, simulated=simulated)
        if found.rows:
            blocks.append(f"{heading}\n{_aligned(found)}")
    return "\n\n".join(blocks)


def comparison_text(comparison: Comparison) -> str:
    """Return two runs side by side; notes follow the table."""
    return "\n".join([_aligned(tables.comparison_table(comparison)), *tables.comparison_notes(comparison)])


def _aligned(table: Table) -> str:
    cells = [table.heads, *table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
