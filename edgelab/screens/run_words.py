"""A run in words: its state with a glyph, the one-line brief, what to do about each failure class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.errors import FailureClass
from edgelab.widgets.spans import Line, Span

if TYPE_CHECKING:
    from edgelab.results import Failure, RunResult
    from edgelab.screens.run_feed import RunSnapshot
    from edgelab.store.records import RunRecord, RunState

STATES: dict[str, tuple[str, str, str]] = {
    "queued": ("○", "queued", "muted"),
    "running": ("●", "alive", "accent"),
    "done": ("■", "finished", "text"),
    "interrupted": ("‖", "interrupted", "warn"),
    "lost": ("!", "lost", "bad"),
}
"""Glyph, word and style of each state of a run."""

VERDICTS: dict[str, tuple[str, str, str]] = {
    "ok": ("✓", "ok", "good"),
    "failed": ("✗", "failed", "bad"),
    "unstable": ("≈", "unstable", "warn"),
}
"""Glyph, word and style of each verdict."""

ADVICE: dict[str, str] = {
    FailureClass.SYNTAX_API: "Correct the program where the message points and run it again.",
    FailureClass.MEMORY: "Check bounds and buffer sizes, and the memory that the program plans for.",
    FailureClass.PARALLEL: "Check the loop bindings: iterations that run in parallel must be independent.",
    FailureClass.NUMERIC: "Compare the program with the reference (2 Tasks) where the first mismatch is.",
    FailureClass.TIMEOUT: "Look for a loop that does not end, or give the step more time.",
    FailureClass.CRASH: "The log below has the last words of the process. Reduce the program until it runs.",
    FailureClass.HACK: "Only what the task asks for may be computed; the rule that was broken is named above.",
    FailureClass.INFRASTRUCTURE: "Nothing is held against the candidate. Put the machine right and run it again.",
}
"""What to do about a failure, by its class."""


SAME_PROGRAM = "same program: what is left is noise"
"""Said where candidate and baseline are one program: no speed-up can be one."""


def advice_of(failure: Failure) -> str:
    """Return what to do about a failure: its own advice, else that of its class."""
    return failure.advice or ADVICE.get(failure.failure_class, "")


def state_span(state: RunState) -> Span:
    """Return glyph and word of a state."""
    glyph, word, style = STATES[state]
    return Span(f"{glyph} {word}", f"{style} bold")


def verdict_span(result: RunResult | None, state: RunState = "done") -> Span:
    """Return glyph and word of a verdict, or of the state where there is none."""
    if result is None:
        glyph, word, style = STATES[state]
        return Span(f"{glyph} {word}", style)
    glyph, word, style = VERDICTS[result.verdict]
    return Span(f"{glyph} {word}", style)


def brief(snapshot: RunSnapshot) -> Line:
    """Return the watched run for the navigation line; a click opens the Runner."""
    if snapshot.record is None and snapshot.view.started is None:
        return []
    result = snapshot.view.result
    lead = verdict_span(result, snapshot.state)
    line: Line = [lead._replace(action="app.go('runner')"), Span(" ")]
    if result is not None and result.verdict == "ok":
        line.append(Span(fmt.speedup(result.speedup) + " ", "text"))
    elif waits(snapshot):
        line.append(Span("waits for the device ", "warn"))
    elif snapshot.state == "running" and (step := snapshot.view.step) is not None:
        share = f" {step.done * 100 // step.total} %" if step.total else ""
        line.append(Span(f"{step.name}{share} ", "text"))
    return [*line, Span(task_name(snapshot), "muted", "app.go('runner')")]


def waits(snapshot: RunSnapshot) -> bool:
    """Whether a run that is alive waits until another one leaves the device."""
    return snapshot.state == "running" and bool(snapshot.view.waits_for)


def task_name(snapshot: RunSnapshot) -> str:
    """Return the task of a run, from its record or its first event."""
    if snapshot.record is not None:
        return snapshot.record.task
    return snapshot.view.started.task if snapshot.view.started else snapshot.run_id


def ended_words(snapshot: RunSnapshot) -> str:
    """Return one sentence on how a run ended."""
    name, result = task_name(snapshot), snapshot.view.result
    if result is None:
        word = STATES[snapshot.state][1]
        return f"{name}: {word} (run {snapshot.run_id}); 3 shows it."
    if result.verdict == "ok":
        return f"{name}: ok, {measured(result.speedup, result.speedup_ci95)}"
    if result.failure is not None:
        return f"{name}: failed ({result.failure.failure_class}): {result.failure.message}"
    return f"{name}: {result.verdict}"


def measured(ratio: float | None, bounds: tuple[float, float] | None) -> str:
    """Return a speed-up with its 95 % interval, both with the same decimals."""
    return f"{fmt.measured_speedup(ratio, bounds)} {fmt.interval(bounds)}"


def same_program(result: RunResult) -> bool:
    """Whether a run compared a program with itself."""
    return result.baseline is not None and result.candidate_program == result.baseline.program != ""


def comparison(result: RunResult) -> str:
    """Return what the speed-up and its 95 % interval say, and no more than that."""
    kind = result.baseline.kind if result.baseline else "plain"
    against = f"the {kind} baseline"
    if same_program(result):
        return SAME_PROGRAM
    if result.speedup is None:
        return f"no speed-up over {against}"
    if result.speedup_ci95 is not None and result.speedup_ci95[0] <= 1.0 <= result.speedup_ci95[1]:
        return f"no difference from {against} shown: the interval contains 1.00"
    if result.speedup >= 1.0:
        return f"faster than {against}"
    return f"slower than {against}"


def run_subject(record: RunRecord) -> str:
    """Return what a run evaluates: its candidate file, or the task's own import."""
    return record.candidate_path.rsplit("/", 1)[-1] if record.candidate_path else "the task's own import"
