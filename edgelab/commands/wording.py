"""How events and verdicts read on the command line: one line an event, aligned lines a verdict."""

from __future__ import annotations

import math

from edgelab.events import AnyEvent, LogLine, PairsTimed, StepStarted, StoredEvent
from edgelab.narration import narrate
from edgelab.quantities import clock, elapsed, interval, latency, measured_speedup, share, size
from edgelab.results import RunResult
from edgelab.visible_text import visible, visible_block

_RESULT_WIDTH = 12
_SOURCE_WIDTH = 10
_TIMING_INTERVAL_S = 1.0


def event_line(body: AnyEvent) -> str | None:
    """Return the line to show for an event, None for events that say nothing new to a reader."""
    match body:
        case StepStarted():
            said = ("info", body.step, "...")
        case PairsTimed():
            text = f"{body.pairs} pairs: {measured_speedup(body.speedup, body.speedup_ci95)} "
            text += f"{interval(body.speedup_ci95)}, rCV "
            text += f"{share(body.rcv_candidate)} / {share(body.rcv_baseline)} / {share(body.rcv_speedup)}"
            said = ("info", "time", text if body.quality == "none" else f"{text}, quality {body.quality}")
        case LogLine():
            said = (body.level, body.source, body.text)
        case _:
            said = narrate(body)
    if said is None or said[0] == "debug":
        return None
    level, source, text = said
    mark = "" if level == "info" else f"{level.upper()}: "
    return visible(f"{source:>{_SOURCE_WIDTH}}  {mark}{text}")


class Stream:
    """Turns a run's events into lines; of the timing, which says something ten times a second, one a second."""

    def __init__(self) -> None:
        self._timed_s = -math.inf

    def line(self, event: StoredEvent) -> str | None:
        """Return the line with its time of day, None for an event without one."""
        if isinstance(event.body, PairsTimed):
            if event.time_s - self._timed_s < _TIMING_INTERVAL_S:
                return None
            self._timed_s = event.time_s
        line = event_line(event.body)
        return None if line is None else f"{clock(event.time_s)} {line}"


def result_text(result: RunResult) -> str:
    """Return the verdict as aligned lines for people."""
    rows = [("verdict", result.verdict.upper())]
    if result.failure is not None:
        rows += [("class", result.failure.failure_class), ("failure", result.failure.message)]
        rows += [("advice", result.failure.advice)] if result.failure.advice else []
        rows += [("detail", result.failure.detail)] if result.failure.detail else []
    rows += [("task", result.task), ("device", f"{result.device} ({result.backend})")]
    if result.simulated:
        rows += [("simulated", "the board is simulated: its kernels ran on this machine's processor")]
    if result.speedup is not None:
        rows += _measured(result)
    if result.verdict == "unstable":
        rows += [("advice", "The device is too noisy: let other work on it end, then run again.")]
    if result.baseline is not None and result.candidate_program == result.baseline.program:
        rows += [("note", _same_program_note(result.baseline.kind))]
    rows += [("run", result.run), ("took", elapsed(result.elapsed_s))]
    return visible_block("\n".join(f"{name:<{_RESULT_WIDTH}}{_indented(value)}" for name, value in rows))


def _same_program_note(baseline_kind: str) -> str:
    if baseline_kind == "tuned":
        return "candidate and baseline are the same program: the speed-up shows what its tuning is worth"
    return "candidate and baseline are the same program: the speed-up shows what noise is left"


def _measured(result: RunResult) -> list[tuple[str, str]]:
    kind = result.baseline.kind if result.baseline else "?"
    return [
        ("speed-up", f"{measured_speedup(result.speedup, result.speedup_ci95)} over {kind}, "
                     f"95 % interval {interval(result.speedup_ci95)}"),
        ("latency", f"{latency(result.latency_s.candidate)} candidate, {latency(result.latency_s.baseline)} {kind}"),
        ("rCV", f"{share(result.rcv.candidate)} candidate, {share(result.rcv.baseline)} baseline, "
                f"{share(result.rcv.speedup)} speed-up"),
        ("quality", f"{result.quality}, {result.pairs} pairs, calls a block: {result.calls_per_block}"),
        ("memory", f"{size(result.peak_memory_bytes)} peak, {size(result.planned_memory_bytes)} planned"),
    ]  # fmt: skip


def _indented(value: str) -> str:
    first, *rest = value.splitlines() or [""]
    return "\n".join([first, *(" " * _RESULT_WIDTH + line for line in rest)])
