"""What the Results screen says: measurements, and runs that ended without one, as rows and lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgelab import quantities as fmt
from edgelab.screens.run_words import VERDICTS, advice_of
from edgelab.store.records import MeasurementRecord, RunRecord
from edgelab.widgets.spans import Line, Span, rule, wrap
from edgelab.widgets.table import Column, Row

if TYPE_CHECKING:
    from edgelab.results import RunResult

COLUMNS = (
    Column("Task", 18, priority=0, grow=True),
    Column("Verdict", 10, priority=0),
    Column("Speed-up", 8, priority=1, right=True),
    Column("95 %", 14, priority=4),
    Column("Candidate", 9, priority=2, right=True),
    Column("Baseline", 9, priority=5, right=True),
    Column("rCV", 6, priority=6, right=True),
    Column("Quality", 7, priority=3),
    Column("Memory", 9, priority=7, right=True),
    Column("Device", 13, priority=8),
    Column("Backend", 7, priority=9),
    Column("When", 10, priority=2, right=True),
)


_MARKS = ("①", "②")


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

    @property
    def counts(self) -> bool:
        """Whether its speed-up is a result: measured, steady and not marked invalid."""
        return self.measurement is not None and self.verdict == "ok" and self.valid

    @property
    def quality(self) -> str:
        """The word of the measurement's quality, `none` where nothing steady was measured."""
        return self.measurement.quality if self.measurement is not None else "none"


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
    found += [_unmeasured(run, run.result) for run in runs if run.result and run.id not in measured]
    return sorted(found, key=lambda outcome: outcome.when_s, reverse=True)


def _unmeasured(run: RunRecord, result: RunResult) -> Outcome:
    return Outcome(
        run=run.id,
        task=run.task,
        device=run.device,
        backend=run.backend,
        simulated=run.simulated,
        verdict=result.verdict,
        when_s=run.finished_s or run.created_s,
        failure_class=result.failure.failure_class if result.failure else "",
        result=result,
    )


def outcome_rows(found: Sequence[Outcome], now_s: float, marked: Sequence[str] = ()) -> list[Row]:
    """Return one table row an outcome; `marked` runs carry the number in which they were marked."""
    return [_row(outcome, now_s, marked) for outcome in found]


def _row(outcome: Outcome, now_s: float, marked: Sequence[str]) -> Row:
    row = outcome.measurement
    shown = "text" if outcome.counts else "faint"
    device = outcome.device + (" (sim)" if outcome.simulated else "")
    cells = (
        Span(f"{_MARKS[marked.index(outcome.run)]} {outcome.task}", "accent bold")
        if outcome.run in marked
        else Span(outcome.task, "text"),
        verdict_span_of(outcome),
        *speedup_spans(outcome),
        Span(fmt.latency(row.latency_candidate_s if row else None), shown),
        Span(fmt.latency(row.latency_baseline_s if row else None), shown),
        Span(fmt.share(row.rcv_speedup if row else None), "muted" if outcome.counts else shown),
        quality_span(outcome),
        Span(fmt.size(row.peak_memory_bytes if row else None), "muted"),
        Span(device, "warn" if outcome.simulated else "muted"),
        Span(outcome.backend, "muted"),
        Span(fmt.age(now_s - outcome.when_s), "muted"),
    )
    quality = outcome.quality if outcome.quality != "none" else ""
    searched = (outcome.task, outcome.verdict, outcome.failure_class, quality, outcome.run, device)
    more = (outcome.backend, "simulated" if outcome.simulated else "", "" if outcome.valid else "invalid")
    return Row(outcome.run, cells, _order(outcome), " ".join((*searched, *more)))


def verdict_span_of(outcome: Outcome) -> Span:
    """Return glyph and word of an outcome's verdict; an unstable one is marked like a label."""
    if not outcome.valid:
        return Span("⊘ invalid", "faint")
    glyph, word, style = VERDICTS[outcome.verdict]
    return Span(f"{glyph} {word}", "mark on:warn bold" if outcome.verdict == "unstable" else style)


def speedup_spans(outcome: Outcome) -> tuple[Span, Span]:
    """Return speed-up and interval; what does not count is not shown as a number, but why it does not."""
    row = outcome.measurement
    if row is not None and outcome.counts:
        bounds = fmt.interval((row.speedup_low, row.speedup_high))
        ratio = fmt.measured_speedup(row.speedup, (row.speedup_low, row.speedup_high))
        return Span(ratio, "text bold"), Span(bounds, "text")
    none = Span(fmt.UNKNOWN, "faint")
    if outcome.verdict == "failed":
        return none, Span(outcome.failure_class or fmt.UNKNOWN, "bad")
    return none, Span("not counted", "warn" if outcome.valid else "faint")


def quality_span(outcome: Outcome) -> Span:
    """Return the word of the measurement's quality."""
    if outcome.quality == "none" and outcome.verdict == "unstable":
        return Span("none", "warn")
    return Span(fmt.UNKNOWN if outcome.quality == "none" else outcome.quality, "muted")


def _order(outcome: Outcome) -> tuple[object, ...]:
    row = outcome.measurement
    return (
        outcome.task,
        outcome.verdict,
        row.speedup if row and outcome.counts else None,
        row.speedup_low if row and outcome.counts else None,
        row.latency_candidate_s if row else None,
        row.latency_baseline_s if row else None,
        row.rcv_speedup if row else None,
        outcome.quality if row else None,
        row.peak_memory_bytes if row else None,
        outcome.device,
        outcome.backend,
        outcome.when_s,
    )


def outcome_lines(outcome: Outcome, cells: int) -> list[Line]:
    """Return the detail of an outcome."""
    glyph, word, style = VERDICTS[outcome.verdict]
    badge = Span(f"{glyph} {word}", f"{style} bold")
    if outcome.verdict == "unstable":
        badge = Span(f" {glyph} UNSTABLE ", f"mark on:{style} bold")
    lines: list[Line] = [rule(outcome.task, cells, f"run {outcome.run}")]
    where = f"  {outcome.device} ({outcome.backend})" + ("  simulated" if outcome.simulated else "")
    lines.append(
        [
            badge,
            Span(where, "muted"),
            Span(f"  {fmt.moment(outcome.when_s)}", "muted"),
        ]
    )
    if not outcome.valid:
        lines += _told("Marked invalid: it counts nowhere.", "warn", cells)
    if outcome.result is not None and outcome.result.failure is not None:
        failure = outcome.result.failure
        lines += _told(f"{failure.failure_class}: {failure.message}", "text", cells)
        lines += _told(advice_of(failure), "muted", cells)
        lines += _told(failure.detail, "faint", cells)
    elif outcome.verdict == "unstable":
        lines += _told(_UNSTABLE, style, cells)
    if outcome.measurement is not None:
        lines += _facts(outcome.measurement, outcome.counts, cells)
    return lines


_UNSTABLE = "Too noisy to count: no speed-up is reported. The numbers below are only what was reached."


def _told(text: str, style: str, cells: int) -> list[Line]:
    return [[Span(line, style)] for line in wrap(text, cells)] if text else []


def _facts(row: MeasurementRecord, counts: bool, cells: int) -> list[Line]:
    bounds = row.speedup_low, row.speedup_high
    ratio = f"{fmt.measured_speedup(row.speedup, bounds)}  95 % {fmt.interval(bounds)}"
    calls = f"{row.calls_per_block} call{'s' if row.calls_per_block != 1 else ''} a block"
    facts = (
        (
            "speed-up" if counts else "reached",
            f"{ratio}  rCV {fmt.share(row.rcv_speedup)}",
        ),
        ("candidate", f"{fmt.latency(row.latency_candidate_s)}  rCV {fmt.share(row.rcv_candidate)}"),
        (
            "baseline",
            f"{fmt.latency(row.latency_baseline_s)}  rCV {fmt.share(row.rcv_baseline)}  {row.baseline_kind}",
        ),
        ("quality", f"{row.quality}, {fmt.count(row.pairs)} pairs, {calls}"),
        ("memory", f"{fmt.size(row.peak_memory_bytes)} peak, {fmt.size(row.planned_memory_bytes)} planned"),
        ("programs", f"{row.candidate_program[:12]} against {row.baseline_program[:12]}"),
    )
    lines: list[Line] = []
    for name, said in facts:
        for index, text in enumerate(wrap(said, cells - 11)):
            lines.append([Span(f"{name if index == 0 else '':<11}", "muted"), Span(text, "text")])
    return lines
