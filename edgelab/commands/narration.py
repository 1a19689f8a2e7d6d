"""How a run's events read as text: narration for stderr, one line an event worth a line."""

from __future__ import annotations

from edgelab.events import (
    AnyEvent,
    Built,
    LogLine,
    PairsTimed,
    RunInterrupted,
    RunStarted,
    SeedVerified,
    StepFinished,
    StepStarted,
)
from edgelab.results import RunResult
from edgelab.widgets.format import interval, latency, share, size, speedup

_RESULT_WIDTH = 12


def narrate(body: AnyEvent) -> str | None:
    """Return the line to show for an event, None for events that say nothing new to a reader."""
    match body:
        case RunStarted():
            verb = "resumed" if body.resumed else "started"
            return f"{verb} {body.task} on {body.device} ({body.backend}), baseline {body.baseline_kind}"
        case StepStarted():
            return f"{body.step:>9} ..."
        case StepFinished():
            mark = "ok" if body.ok else "FAILED"
            return f"{body.step:>9} {mark} in {latency(body.elapsed_s)}  {body.summary}".rstrip()
        case Built():
            how = "found in cache" if body.cached else f"built in {latency(body.cost_s)}"
            return f"{'':>9} {body.role} {body.program[:12]} {how}, {size(body.size_bytes)}"
        case SeedVerified():
            error = "" if body.max_abs_error is None else f", largest error {body.max_abs_error:.3g}"
            return f"{'':>9} {body.role} seed {body.seed} {'ok' if body.ok else 'WRONG'}{error} {body.message}".rstrip()
        case PairsTimed():
            return (
                f"{'':>9} {body.pairs} pairs: speed-up {speedup(body.speedup)} {interval(body.speedup_ci95)}, "
                f"rCV {share(body.rcv_candidate)} / {share(body.rcv_baseline)} / {share(body.rcv_speedup)}, "
                f"{body.quality}"
            )
        case LogLine() if body.level != "debug":
            return f"{'':>9} {body.source}: {body.text}"
        case RunInterrupted():
            return f"interrupted: {body.reason}"
    return None


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
