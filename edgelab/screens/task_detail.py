"""What the Tasks screen says of a task: pure functions from the catalogue to rows and lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.widgets.highlight import python_lines
from edgelab.widgets.spans import Line, Span, pad, rule, wrap
from edgelab.widgets.table import Column, Row

if TYPE_CHECKING:
    from edgelab.bench.tasks import TaskSpec
    from edgelab.store.records import MeasurementRecord

COLUMNS = (
    Column("Task", 22, priority=0, grow=True),
    Column("Level", 5, priority=1, right=True),
    Column("Family", 13, priority=3),
    Column("Backends", 16, priority=4),
    Column("Best", 7, priority=2, right=True),
    Column("Id", 6, priority=5, extra=True),
)


def task_rows(tasks: list[TaskSpec], best: Mapping[str, MeasurementRecord]) -> list[Row]:
    """Return one row a task, with its best valid measurement where there is one."""
    rows = []
    for task in tasks:
        measured = best.get(task.name)
        backends = " ".join(task.backends)
        cells = (
            Span(task.name, "text"),
            Span(str(task.level) if task.level else "file", "muted"),
            Span(task.family, "muted"),
            Span(backends, "muted"),
            Span(
                fmt.speedup(measured.speedup) if measured else "",
                "good" if measured and measured.speedup_low > 1.0 else "muted",
            ),
            Span(task.id, "faint"),
        )
        order = (
            task.name,
            task.level,
            task.family,
            backends,
            measured.speedup if measured else None,
            task.id,
        )
        searched = (
            f"{task.name} l{task.level} {task.family} {backends} {task.id} {task.title} {task.operator_class}"
        )
        rows.append(Row(task.name, cells, order, searched))
    return rows


def best_by_task(measurements: list[MeasurementRecord]) -> dict[str, MeasurementRecord]:
    """Return the highest speed-up of each task among valid, physical measurements with verdict ok."""
    best: dict[str, MeasurementRecord] = {}
    for row in measurements:
        counted = row.valid and row.verdict == "ok" and not row.simulated
        if counted and (row.task not in best or row.speedup > best[row.task].speedup):
            best[row.task] = row
    return best


def task_lines(
    task: TaskSpec, best: MeasurementRecord | None, source: str, now_s: float, cells: int
) -> list[Line]:
    """Return the detail of a task: what it is, where from, its constants, its best result, its source."""
    lines: list[Line] = [rule(task.name, cells, task.id)]
    lines += [[Span(line, "text bold")] for line in wrap(task.title, cells) if task.title]
    level = f"level {task.level}" if task.level else "a file of your own"
    about = ", ".join(part for part in (level, task.family, task.operator_class) if part)
    lines.append([Span(about, "muted")])
    lines.append([])
    lines += _fact("backends", ", ".join(task.backends), cells)
    lines += _fact("from", task.provenance, cells)
    lines += _fact("adapted", task.adapted, cells)
    lines += _best(best, now_s, cells)
    if task.constants:
        lines += [[], rule("Shapes and constants", cells)]
        lines += _constants(task.constants, cells)
    lines += [[], rule("Reference", cells, "PyTorch")]
    lines += [list(line) for line in python_lines(source)]
    return lines


def _fact(name: str, text: str, cells: int) -> list[Line]:
    if not text:
        return []
    wrapped = wrap(text, cells - 11)
    return [
        [Span(f"{name if index == 0 else '':<11}", "muted"), Span(line, "text")]
        for index, line in enumerate(wrapped)
    ]


def _best(best: MeasurementRecord | None, now_s: float, cells: int) -> list[Line]:
    if best is None:
        return _fact("best", "not measured yet", cells)
    bounds = best.speedup_low, best.speedup_high
    said = (
        f"{fmt.measured_speedup(best.speedup, bounds)} {fmt.interval(bounds)} over {best.baseline_kind}, "
        f"{fmt.latency(best.latency_candidate_s)} "
        f"on {best.device}, quality {best.quality}, {fmt.age(now_s - best.created_s)}"
    )
    return _fact("best", said, cells)


def _constants(constants: Mapping[str, object], cells: int) -> list[Line]:
    items = [f"{name} = {value}" for name, value in constants.items()]
    wide = max((len(item) for item in items), default=0) + 2
    columns = max(min(cells // wide, 3), 1) if wide else 1
    lines: list[Line] = []
    for start in range(0, len(items), columns):
        line: Line = []
        for item in items[start : start + columns]:
            name, _, value = item.partition(" = ")
            line += pad([Span(f"{name} ", "muted"), Span(value, "number")], wide)
        lines.append(line)
    return lines
