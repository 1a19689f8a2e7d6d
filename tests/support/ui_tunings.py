"""Tunings for the app's tests: one under way, one that has ended."""

from __future__ import annotations

import msgspec

from edgelab.events import KernelTuned, TuningEnded, TuningKernel, TuningProgress, TuningStarted
from tests.support.ui_data import NOW_S, TASK, Run, Script, record

KERNELS = (
    TuningKernel(
        name="fused_conv2d2_add2_relu1", digest="1" * 64, search_class="conv", weight=3,
        plain_latency_s=2.41e-3, budget=256,
    ),
    TuningKernel(
        name="fused_dense_add_relu", digest="2" * 64, search_class="dense", weight=1,
        plain_latency_s=812e-6, budget=256,
    ),
    TuningKernel(
        name="fused_mean_divide_reshape_and_a_long_name", digest="3" * 64, search_class="reduction", weight=1,
        plain_latency_s=18e-6, budget=64,
    ),
    TuningKernel(
        name="softmax", digest="4" * 64, search_class="composite", weight=1, plain_latency_s=9e-6, budget=0,
    ),
)  # fmt: skip


def progress(kernel: TuningKernel, batch: int, best_s: float | None, *, failed: int = 0) -> TuningProgress:
    """One batch of 32 trials."""
    return TuningProgress(
        task=TASK, kernel=kernel.name, digest=kernel.digest, search=0, trials=32 * batch, budget=kernel.budget,
        failed=failed, best_latency_s=best_s, plain_latency_s=kernel.plain_latency_s, generate_s=0.8,
        build_s=3.4, measure_s=1.6,
    )  # fmt: skip


def _begun(run: str) -> Script:
    script = Script(run, start_s=NOW_S - 63.0)
    script.say(TuningStarted(task=TASK, device="local", target="llvm", tvm_version="0.27.0", kernels=KERNELS))
    for batch, best_s in enumerate((1.9e-3, 1.2e-3, 0.71e-3, 0.64e-3, 0.61e-3, 0.6e-3, 0.6e-3, 0.6e-3), 1):
        script.say(progress(KERNELS[0], batch, best_s, failed=batch), 5.8)
    done = KernelTuned(
        task=TASK, kernel=KERNELS[0].name, digest=KERNELS[0].digest, state="tuned", trials=256,
        plain_latency_s=2.4e-3, tuned_latency_s=0.59e-3, converged_at=96,
    )  # fmt: skip
    script.say(done, 1.0)
    for batch, best_s in enumerate((None, 690e-6, 230e-6), 1):
        script.say(progress(KERNELS[1], batch, best_s), 4.0)
    return script


def tuning() -> Run:
    """A tuning at its second kernel."""
    script = _begun("260829-tun01")
    return Run(_record(script.run, "running"), script.events)


def tuned() -> Run:
    """A tuning with one of each end."""
    script = _begun("260829-tun02")
    ends = (("tuned", 211e-6, ""), ("plain", 18e-6, ""), ("fallback", None, "no schedule binds its loops"))
    for kernel, (state, latency_s, error) in zip(KERNELS[1:], ends, strict=True):
        said = KernelTuned(
            task=TASK, kernel=kernel.name, digest=kernel.digest, state=state, trials=kernel.budget,
            plain_latency_s=kernel.plain_latency_s, tuned_latency_s=latency_s, error=error,
        )  # fmt: skip
        script.say(said)
    script.say(
        TuningEnded(
            task=TASK,
            device="local",
            trials=576,
            elapsed_s=61.0,
            plain_latency_s=8.07e-3,
            tuned_latency_s=2.0e-3,
        )
    )
    return Run(_record(script.run, "done"), script.events)


def _record(run: str, state: str):  # type: ignore[no-untyped-def]
    return msgspec.structs.replace(record(run, state), kind="tune")  # type: ignore[arg-type]
