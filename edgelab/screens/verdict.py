"""The verdict panel: unmistakable, one message, one piece of advice, numbers only where they were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.screens.run_words import (
    SAME_PROGRAM,
    VERDICTS,
    advice_of,
    comparison,
    measured,
    same_program,
    waits,
)
from edgelab.widgets.spans import Line, Span, fit, rule, wrap

if TYPE_CHECKING:
    from edgelab.results import RunResult
    from edgelab.screens.run_feed import RunSnapshot

_BADGES = {
    "ok": ("✓ OK", "good"),
    "failed": ("✗ FAILED", "bad"),
    "unstable": ("≈ UNSTABLE", "warn"),
    "lost": ("! LOST", "bad"),
    "interrupted": ("‖ INTERRUPTED", "warn"),
}


def verdict_style(snapshot: RunSnapshot) -> str:
    """Return the palette colour of the panel."""
    if snapshot.view.result is not None:
        return VERDICTS[snapshot.view.result.verdict][2]
    return _BADGES[snapshot.state][1] if snapshot.state in _BADGES else "line"


def verdict_lines(snapshot: RunSnapshot, cells: int, rows: int) -> list[Line]:
    """Return the panel as at most `rows` lines of `cells`."""
    style = verdict_style(snapshot)
    bar = Span("▌ ", style)
    body = _body(snapshot, max(cells - 3, 20))
    lines = [rule("Verdict", cells), *(fit([bar, *line], cells) for line in body)]
    if len(lines) > rows:
        lines = lines[:rows]
        if rows > 1:
            lines[-1] = [bar, Span("… y copies all of it", "faint")]
    return lines


def _body(snapshot: RunSnapshot, cells: int) -> list[Line]:
    result = snapshot.view.result
    if result is not None:
        if result.verdict == "ok":
            return _ok(result, cells)
        return _failed(result, cells) if result.failure is not None else _unstable(result, cells)
    if snapshot.state in ("lost", "interrupted"):
        return _cut_off(snapshot, cells)
    return _pending(snapshot, cells)


def _cut_off(snapshot: RunSnapshot, cells: int) -> list[Line]:
    said = "Its process is gone: killed, or the machine went down."
    if snapshot.state == "interrupted":
        said = (snapshot.view.interrupted and snapshot.view.interrupted.reason) or "Stopped before a verdict."
    resume: Line = [
        Span("What was recorded stays. ", "muted"),
        *_key("R", "resumes the run", "screen.resume"),
    ]
    return [*_headed(snapshot.state, "", said, cells), resume]


def _key(key: str, label: str, action: str) -> Line:
    return [Span(key, "accent bold", action), Span(f" {label}.", "muted", action)]


def _headed(badge: str, after: str, message: str, cells: int) -> list[Line]:
    text, style = _BADGES[badge]
    head: Line = [Span(f" {text} ", f"mark on:{style} bold")]
    if after:
        head.append(Span(f"  {after}", f"{style} bold"))
    used = sum(len(span.text) for span in head) + 2
    if len(message) <= cells - used and "\n" not in message:
        return [[*head, Span(f"  {message}", "text")]]
    return [head, *([Span(line, "text")] for line in wrap(message, cells))]


def _ok(result: RunResult, cells: int) -> list[Line]:
    text, style = _BADGES["ok"]
    head: Line = [
        Span(f" {text} ", f"mark on:{style} bold"),
        Span(f"  {fmt.measured_speedup(result.speedup, result.speedup_ci95)}", f"{style} bold"),
        Span(f"  95 % {fmt.interval(result.speedup_ci95)}", "text"),
    ]
    said = comparison(result)
    numbers = (
        f"candidate {fmt.latency(result.latency_s.candidate)}, baseline {fmt.latency(result.latency_s.baseline)}, "
        f"quality {result.quality}, {fmt.count(result.pairs)} pairs"
    )
    memory = (
        f"peak memory {fmt.size(result.peak_memory_bytes)}, planned {fmt.size(result.planned_memory_bytes)}"
    )
    if sum(len(span.text) for span in head) + len(said) + 2 <= cells:
        head.append(Span(f"  {said}", "text"))
        said = ""
    lines = [head, *([Span(line, "text")] for line in wrap(said, cells) if said)]
    lines += [[Span(line, "muted")] for text in (numbers, memory) for line in wrap(text, cells)]
    if result.quality == "paired":
        lines += [[Span(line, "faint")] for line in wrap(_PAIRED, cells)]
    return lines


_PAIRED = (
    "paired: the ratio is steady; the latencies themselves drift by more than 5 % on this machine, "
    "so trust the speed-up more than the milliseconds."
)


def _failed(result: RunResult, cells: int) -> list[Line]:
    failure = result.failure
    assert failure is not None
    lines = _headed("failed", failure.failure_class, failure.message, cells)
    advice = advice_of(failure)
    lines += [[Span(line, "muted")] for line in wrap(advice, cells) if advice]
    if failure.detail:
        lines += [[Span(line, "faint")] for line in wrap(failure.detail, cells)]
    return lines


def _unstable(result: RunResult, cells: int) -> list[Line]:
    lines = _headed("unstable", "", "Too noisy to count: no speed-up is reported.", cells)
    rcv = result.rcv
    reached = (
        f"Reached {measured(result.speedup, result.speedup_ci95)}, {fmt.count(result.pairs)} pairs, "
        f"rCV {fmt.share(rcv.candidate)}, {fmt.share(rcv.baseline)}, ratio {fmt.share(rcv.speedup)}"
    )
    advice = "Let other work on the device end, then run it again."
    lines += [[Span(line, "text")] for line in wrap(reached, cells)]
    if same_program(result):
        advice = f"{advice} Candidate and baseline are the {SAME_PROGRAM}."
    return lines + [[Span(line, "muted")] for line in wrap(advice, cells)]


def _pending(snapshot: RunSnapshot, cells: int) -> list[Line]:
    step, timing = snapshot.view.step, snapshot.view.timing
    if snapshot.state == "queued":
        return [[Span("Waiting for the run's process to begin.", "muted")]]
    if waits(snapshot):
        said = f"Waiting for the device: {snapshot.view.waits_for} is using it."
        return [[Span(line, "warn")] for line in wrap(said, cells)]
    said = "No verdict yet"
    if step is not None:
        said += f": {step.name} is under way"
    lines: list[Line] = [[Span(line, "muted")] for line in wrap(said + ".", cells)]
    if timing is not None:
        so_far = f"So far {measured(timing.speedup, timing.speedup_ci95)}; "
        if timing.quality == "none":
            so_far += "no quality yet: it counts once one holds."
        else:
            so_far += f"quality {timing.quality} holds: it counts once the last checks pass."
        lines += [[Span(line, "muted")] for line in wrap(so_far, cells)]
    return lines
