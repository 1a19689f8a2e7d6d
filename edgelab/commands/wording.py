"""How events and verdicts read on the command line: one line an event, aligned lines a verdict."""

from __future__ import annotations

from edgelab.events import AnyEvent, LogLine, PairsTimed, StepStarted
from edgelab.narration import narrate
from edgelab.quantities import interval, latency, share, size, speedup
from edgelab.results import RunResult

_RESULT_WIDTH = 12
_SOURCE_WIDTH = 10


def event_line(body: AnyEvent) -> str | None:
    """Return the line to show for an event, None for events that say nothing new to a reader."""
    match body:
        case StepStarted():
            said = ("info", body.step, "...")
        case PairsTimed():
            text = f"{body.pairs} pairs: {speedup(body.speedup)} {interval(body.speedup_ci95)}, rCV "
            text += f"{share(body.rcv_candidate)} / {share(body.rcv_baseline)} / {share(body.rcv_speedup)}"
            said = ("info", "time", f"{text}, quality {body.quality}")
        case LogLine():
            said = (body.level, body.source, body.text)
        case _:
            said = narrate(body)
    if said is None or said[0] == "debug":
        return None
    level, source, text = said
    mark = "" if level == "info" else f"{level.upper()}: "
    return f"{source:>{_SOURCE_WIDTH}}  {mark}{text}"


def result_text(result: RunResult) -> str:
    """Return the verdict as aligned lines for people."""
    rows = [("verdict", result.verdict.upper())]
    if result.failure is not None:
        rows += [("class", result.failure.failure_class), ("failure", result.failure.message)]
        rows += [("advice", result.failure.advice)] if result.failure.advice else []
        rows += [("detail", result.failure.detail)] if result.failure.detail else []
    rows += [("task", result.task), ("device", f"{result.device} ({result.backend})")]
    if result.speedup is not None:
        rows += _measured(result)
    rows += [("run", result.run), ("took", latency(result.elapsed_s))]
    return "\n".join(f"{name:<{_RESULT_WIDTH}}{_indented(value)}" for name, value in rows)


def _measured(result: RunResult) -> list[tuple[str, str]]:
    kind = result.baseline.kind if result.baseline else "?"
    return [
        ("speed-up", f"{speedup(result.speedup)} over {kind}, 95 % interval {interval(result.speedup_ci95)}"),
        ("latency", f"{latency(result.latency_s.candidate)} candidate, {latency(result.latency_s.baseline)} {kind}"),
        ("rCV", f"{share(result.rcv.candidate)} candidate, {share(result.rcv.baseline)} baseline, "
                f"{share(result.rcv.speedup)} speed-up"),
        ("quality", f"{result.quality}, {result.pairs} pairs of {result.calls_per_block} call(s) a block"),
        ("memory", f"{size(result.peak_memory_bytes)} peak, {size(result.planned_memory_bytes)} planned"),
    ]  # fmt: skip


def _indented(value: str) -> str:
    first, *rest = value.splitlines() or [""]
    return "\n".join([first, *(" " * _RESULT_WIDTH + line for line in rest)])
