"""Events other than log lines, told as one line of the log: (level, source, text)."""

from __future__ import annotations

from edgelab import quantities as fmt
from edgelab.events import (
    AnyEvent,
    Built,
    ClocksLocked,
    ClocksRestored,
    DeviceAwaited,
    DeviceChecked,
    LinkBack,
    LinkLost,
    LockLost,
    Lowered,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SeedVerified,
    StepFinished,
)
from edgelab.results import RunResult


def narrate(body: AnyEvent) -> tuple[str, str, str] | None:
    """Return the log line for an event worth one, None for those that screens show elsewhere."""
    if isinstance(body, StepFinished):
        return _step(body)
    if isinstance(body, SeedVerified):
        return _seed(body)
    if isinstance(body, Built):
        cost = "from the cache" if body.cached else f"in {fmt.elapsed(body.cost_s)}"
        return "info", "build", f"{body.role}: {fmt.size(body.size_bytes)} artefact {cost}"
    if isinstance(body, Lowered):
        kernels = f"{len(body.kernels)} kernel{'s' if len(body.kernels) != 1 else ''}"
        return "info", "lower", f"{body.role}: {kernels} by {body.adapter} in {fmt.elapsed(body.cost_s)}"
    if isinstance(body, RunStarted):
        again = "resumed" if body.resumed else "started"
        return "info", "run", f"{again}: {body.task} on {body.device} ({body.backend}), pid {body.pid}"
    if isinstance(body, RunFinished):
        return _finished(body.result)
    if isinstance(body, RunInterrupted):
        return "warning", "run", f"interrupted: {body.reason or 'stopped on request'}"
    return _device(body)


def _device(body: AnyEvent) -> tuple[str, str, str] | None:
    """Return the log line of an event about the device itself."""
    if isinstance(body, DeviceAwaited):
        return (
            "warning",
            "device",
            f"waiting for {body.device}, which {body.holder or 'another run'} is using",
        )
    if isinstance(body, DeviceChecked):
        return _checked(body)
    if isinstance(body, ClocksLocked):
        how = "; ".join(body.steps) or "they already were"
        return "info", "device", f"clocks of {body.device} locked{' again' if body.again else ''}: {how}"
    if isinstance(body, LockLost):
        lost = f"; measurements marked invalid: {body.invalidated}" if body.invalidated else ""
        return "error", "device", f"clock lock of {body.device} lost: {body.reason}{lost}"
    if isinstance(body, ClocksRestored):
        if body.problem:
            return "error", "device", f"clocks of {body.device} were not restored: {body.problem}"
        return "info", "device", f"clocks of {body.device} restored: {'; '.join(body.steps)}"
    if isinstance(body, LinkLost):
        return "error", "device", f"link to {body.device} lost: {body.reason} Waiting for it."
    if isinstance(body, LinkBack):
        return "info", "device", f"link to {body.device} is back after {fmt.elapsed(body.after_s)}"
    return None


def _checked(body: DeviceChecked) -> tuple[str, str, str]:
    if body.ready:
        return "info", "device", f"{body.device} is ready"
    return "error", "device", f"{body.device} is not ready: {' '.join(body.reasons)}"


def _step(body: StepFinished) -> tuple[str, str, str]:
    outcome = "done" if body.ok else "stopped" if body.stopped else "failed"
    text = f"{body.step} {outcome} after {fmt.elapsed(body.elapsed_s)}"
    level = "info" if body.ok else "warning" if body.stopped else "error"
    return level, "run", f"{text}: {body.summary}" if body.summary else text


def _seed(body: SeedVerified) -> tuple[str, str, str]:
    inputs = "secret inputs" if body.seed is None else f"seed {body.seed}"
    if body.structure is not None:
        inputs = f"hidden inputs ({body.structure.replace('_', ' ')})"
    if not body.ok:
        error = "" if body.max_abs_error is None else f" by up to {body.max_abs_error:.2g}"
        return "error", "verify", f"{body.role}, {inputs}: outputs differ{error}"
    error = "" if body.max_abs_error is None else f", largest error {body.max_abs_error:.2g}"
    tolerated = "" if body.tolerated is None else f" of {body.tolerated:.2g} tolerated"
    return "info", "verify", f"{body.role}, {inputs}: equal{error}{tolerated}"


def _finished(result: RunResult) -> tuple[str, str, str]:
    if result.verdict == "ok":
        ratio = (
            f"{fmt.measured_speedup(result.speedup, result.speedup_ci95)} {fmt.interval(result.speedup_ci95)}"
        )
        return "info", "run", f"verdict ok: {ratio}, quality {result.quality}"
    if result.failure is not None:
        return (
            "error",
            "run",
            f"verdict {result.verdict}: {result.failure.failure_class}: {result.failure.message}",
        )
    return "warning", "run", f"verdict {result.verdict}"
