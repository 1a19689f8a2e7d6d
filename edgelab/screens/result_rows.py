"""What the Results screen says: measurements, and runs that ended without one, as rows and lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgelab import quantities as fmt
from edgelab.screens.run_words import ADVICE, VERDICTS
from edgelab.store.records import MeasurementRecord, RunRecord
from edgelab.widgets.spans import Line, Span, rule, wrap
from edgelab.widgets.table import Column, Row

if TYPE_CHECKING:
    from edgelab.results import RunResult

COLUMNS = (
    Column("Task", 18, priority=0, grow=True),
    Column("Verdict", 10, priority=0),
    Column("Speed-up", 8, priority=1, right=True),
    Column("95 %", 14, priority=3),
    Column("Candidate", 9, priority=2, right=True),
    Column("Baseline", 9, priority=4, right=True),
    Column("rCV", 6, priority=6, right=True),
    Column("Quality", 7, priority=5),
    Column("Memory", 9, priority=7, right=True),
    Column("Device", 13, priority=8),
    Column("Backend", 7, priority=9),
    Column("When", 10, priority=2, right=True),
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the results: a measurement, or a run that ended in a verdict without one."""

    run: str
    task: str
    device: str
    backend: str
    simulated: bool
    verdict: str
    when_s: float
    valid: bool = True
    failure_class: str = ""
    measurement: MeasurementRecord | None = None
    result: RunResult | None = None


def outcomes(measurements: Sequence[MeasurementRecord], runs: Sequence[RunRecord]) -> list[Outcome]:
    """Return measurements and the runs that have none, newest first."""
    results = {run.id: run.result for run in runs}
    found = [
        Outcome(
            run=row.run,
            task=row.task,
            device=row.device,
            backend=row.backend,
            simulated=row.simulated,
            verdict=row.verdict,
            when_s=row.created_s,
            valid=row.valid,
            measurement=row,
            result=results.get(row.run),
        )
        for row in measurements
    ]
    measured = {row.run for row in measurements}
    for run in runs:
        if run.result is not None and run.id not in measured:
            failure = run.result.failure
            found.append(
                Outcome(
                    run=run.id,
                    task=run.task,
                    device=run.device,
                    backend=run.backend,
                    simulated=run.simulated,
                    verdict=run.result.verdict,
                    when_s=run.finished_s or run.created_s,
                    failure_class=failure.failure_class if failure else "",
                    result=run.result,
                )
            )
    return sorted(found, key=lambda outcome: outcome.when_s, reverse=True)


def outcome_rows(found: Sequence[Outcome], now_s: float) -> list[Row]:
    """Return one table row an outcome."""
    return [_row(outcome, now_s) for outcome in found]


def _row(outcome: Outcome, now_s: float) -> Row:
    row = outcome.measurement
    glyph, word, style = VERDICTS[outcome.verdict]
    verdict = Span(f"{glyph} {word}" if outcome.valid else "⊘ invalid", style if outcome.valid else "faint")
    shown = "text" if outcome.verdict == "ok" and outcome.valid else "faint"
    bounds = (row.speedup_low, row.speedup_high) if row else None
    cells = (
        Span(outcome.task, "text"),
        verdict,
        Span(fmt.speedup(row.speedup) if row else fmt.UNKNOWN, f"{shown} bold" if row else "faint"),
        Span(fmt.interval(bounds) if row else outcome.failure_class or fmt.UNKNOWN, shown if row else "bad"),
        Span(fmt.latency(row.latency_candidate_s if row else None), shown),
        Span(fmt.latency(row.latency_baseline_s if row else None), shown),
        Span(fmt.share(row.rcv_speedup if row else None), "muted"),
        Span(row.quality if row else fmt.UNKNOWN, "muted"),
        Span(fmt.size(row.peak_memory_bytes if row else None), "muted"),
        Span(
            outcome.device + (" (sim)" if outcome.simulated else ""), "warn" if outcome.simulated else "muted"
        ),
        Span(outcome.backend, "muted"),
        Span(fmt.age(now_s - outcome.when_s), "muted"),
    )
    searched = (
        f"{outcome.task} {outcome.verdict} {outcome.failure_class} {outcome.device} {outcome.backend} "
        f"{row.quality if row else ''} {outcome.run} {'simulated' if outcome.simulated else ''}"
    )
    return Row(outcome.run, cells, _order(outcome), searched)


def _order(outcome: Outcome) -> tuple[object, ...]:
    row = outcome.measurement
    return (
        outcome.task,
        outcome.verdict,
        row.speedup if row else None,
        row.speedup_low if row else None,
        row.latency_candidate_s if row else None,
        row.latency_baseline_s if row else None,
        row.rcv_speedup if row else None,
        row.quality if row else None,
        row.peak_memory_bytes if row else None,
        outcome.device,
        outcome.backend,
        outcome.when_s,
    )


def outcome_lines(outcome: Outcome, cells: int) -> list[Line]:
    """Return the detail of an outcome."""
    glyph, word, style = VERDICTS[outcome.verdict]
    lines: list[Line] = [rule(outcome.task, cells, f"run {outcome.run}")]
    where = f"  {outcome.device} ({outcome.backend})" + ("  simulated" if outcome.simulated else "")
    lines.append(
        [
            Span(f"{glyph} {word}", f"{style} bold"),
            Span(where, "muted"),
            Span(f"  {fmt.moment(outcome.when_s)}", "muted"),
        ]
    )
    if not outcome.valid:
        lines += _told("Marked invalid: it counts nowhere.", "warn", cells)
    if outcome.result is not None and outcome.result.failure is not None:
        failure = outcome.result.failure
        lines += _told(f"{failure.failure_class}: {failure.message}", "text", cells)
        lines += _told(ADVICE.get(failure.failure_class, ""), "muted", cells)
        lines += _told(failure.detail, "faint", cells)
    if outcome.measurement is not None:
        lines += _facts(outcome.measurement, cells)
    return lines


def _told(text: str, style: str, cells: int) -> list[Line]:
    return [[Span(line, style)] for line in wrap(text, cells)] if text else []


def _facts(row: MeasurementRecord, cells: int) -> list[Line]:
    bounds = fmt.interval((row.speedup_low, row.speedup_high))
    calls = f"{row.calls_per_block} call{'s' if row.calls_per_block != 1 else ''} a block"
    facts = (
        ("speed-up", f"{fmt.speedup(row.speedup)}  95 % {bounds}  rCV {fmt.share(row.rcv_speedup)}"),
        ("candidate", f"{fmt.latency(row.latency_candidate_s)}  rCV {fmt.share(row.rcv_candidate)}"),
        (
            "baseline",
            f"{fmt.latency(row.latency_baseline_s)}  rCV {fmt.share(row.rcv_baseline)}  {row.baseline_kind}",
        ),
        ("quality", f"{row.quality}  {fmt.count(row.pairs)} pairs, {calls}"),
        ("memory", f"{fmt.size(row.peak_memory_bytes)} peak, {fmt.size(row.planned_memory_bytes)} planned"),
        ("programs", f"{row.candidate_program[:12]} against {row.baseline_program[:12]}"),
    )
    lines: list[Line] = []
    for name, said in facts:
        for index, text in enumerate(wrap(said, cells - 11)):
            lines.append([Span(f"{name if index == 0 else '':<11}", "muted"), Span(text, "text")])
    return lines
