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
    KernelTuned,
    LinkBack,
    LinkLost,
    LockLost,
    Lowered,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SeedVerified,
    StepFinished,
    TuningEnded,
    TuningProgress,
    TuningStarted,
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
    return _tuning(body) or _device(body)


def _tuning(body: AnyEvent) -> tuple[str, str, str] | None:
    """Return the log line of an event of a tuning."""
    if isinstance(body, TuningStarted):
        trials = sum(kernel.budget for kernel in body.kernels)
        again = ", going on from what is stored" if body.resumed else ""
        text = f"tuning {body.task} on {body.device}: {len(body.kernels)} kernels, at most {trials} trials{again}"
        return "info", "tune", text
    if isinstance(body, TuningProgress):
        failed = f", {body.failed} failed" if body.failed else ""
        text = (
            f"{body.task}: {body.kernel}: {body.trials}/{body.budget} trials{failed}, "
            f"best {fmt.latency(body.best_latency_s)} (plain {fmt.latency(body.plain_latency_s)})"
        )
        return "info", "tune", text
    if isinstance(body, KernelTuned):
        return _kernel_tuned(body)
    if isinstance(body, TuningEnded):
        text = (
            f"{body.task} tuned in {fmt.elapsed(body.elapsed_s)} and {body.trials} trials: kernels take "
            f"{fmt.latency(body.tuned_latency_s)}, plain {fmt.latency(body.plain_latency_s)}"
        )
        return "info", "tune", text
    return None


def _kernel_tuned(body: KernelTuned) -> tuple[str, str, str]:
    name = f"{body.task}: {body.kernel}"
    if body.state == "tuned":
        times = f"{fmt.latency(body.tuned_latency_s)}, plain {fmt.latency(body.plain_latency_s)}"
        return "info", "tune", f"{name}: tuned after {body.trials} trials: {times}"
    if body.state == "plain":
        return "info", "tune", f"{name}: no schedule of {body.trials} trials beats the default one"
    level = "warning" if body.state == "fallback" else "error"
    return level, "tune", f"{name}: {body.state}, the default schedule stands: {body.error}"


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
