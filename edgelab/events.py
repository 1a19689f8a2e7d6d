"""What a run says while it works: one small frozen object an event.

The run process appends events to the store; every screen and `runs attach` only read them. The type
tag (`kind`) is what the `events` table stores beside the encoded body.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.results import Quality, RunResult

Role = Literal["candidate", "baseline"]
Step = Literal["reference", "build", "worker", "verify", "time", "recheck"]

STEPS: tuple[Step, ...] = ("reference", "build", "worker", "verify", "time", "recheck")
"""The steps of one evaluation in the order they begin."""


class EventBody(msgspec.Struct, frozen=True, tag_field="kind"):
    """Base of all event bodies."""


class RunStarted(EventBody, frozen=True, kw_only=True, tag="run_started"):
    """The run process holds its lock and begins; `resumed` when it continues an earlier one."""

    task: str
    device: str
    backend: str
    target: str = ""
    candidate: str = ""
    baseline_kind: str = "plain"
    pid: int = 0
    resumed: bool = False


class DeviceAwaited(EventBody, frozen=True, kw_only=True, tag="device_awaited"):
    """Another run is using the device; this one begins when it is free. `holder` is empty if not known."""

    device: str
    holder: str = ""


class StepStarted(EventBody, frozen=True, kw_only=True, tag="step_started"):
    """A step of the evaluation began."""

    step: Step


class StepProgress(EventBody, frozen=True, kw_only=True, tag="step_progress"):
    """How far a step is; `total` is 0 where the end is not known."""

    step: Step
    done: int
    total: int = 0
    note: str = ""


class StepFinished(EventBody, frozen=True, kw_only=True, tag="step_finished"):
    """A step ended; `summary` is one line for people. `stopped` tells a stop on request from a failure."""

    step: Step
    ok: bool
    elapsed_s: float
    summary: str = ""
    stopped: bool = False


class LogLine(EventBody, frozen=True, kw_only=True, tag="log"):
    """One line of narration. `source` names who said it (`build`, `worker`, `candidate`, `run`)."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    source: str = "run"
    text: str


class Lowered(EventBody, frozen=True, kw_only=True, tag="lowered"):
    """An adapter lowered a program (the paper's Lambda): deterministic, no search."""

    role: Role
    adapter: str
    program: str
    kernels: tuple[str, ...] = ()
    cost_s: float = 0.0


class Built(EventBody, frozen=True, kw_only=True, tag="built"):
    """A program was compiled and linked, or its artefact was found by hash (`cached`)."""

    role: Role
    program: str
    artefact: str
    size_bytes: int
    cost_s: float
    cached: bool = False
    planned_memory_bytes: int | None = None


class SeedVerified(EventBody, frozen=True, kw_only=True, tag="seed_verified"):
    """One seed's outputs were compared with PyTorch's. Errors are absolute, None if shapes differ.

    `seed` is None for secret inputs: those of the check after timing and, with the `structure` that they were
    given, hidden cases.
    """

    role: Role
    seed: int | None = None
    structure: str | None = None
    ok: bool
    max_abs_error: float | None = None
    tolerated: float | None = None
    message: str = ""


class PairsTimed(EventBody, frozen=True, kw_only=True, tag="pairs_timed"):
    """A batch of pairs was timed: the new latencies (seconds) and the statistics over all so far.

    `latency_candidate_s` and `latency_baseline_s` are medians.
    """

    candidate_s: tuple[float, ...]
    baseline_s: tuple[float, ...]
    pairs: int
    max_pairs: int
    calls_per_block: int
    latency_candidate_s: float
    latency_baseline_s: float
    speedup: float
    speedup_ci95: tuple[float, float]
    rcv_candidate: float
    rcv_baseline: float
    rcv_speedup: float
    quality: Quality


class DeviceChecked(EventBody, frozen=True, kw_only=True, tag="device_checked"):
    """The device was checked before or between the work; `reasons` say why it is not ready."""

    device: str
    ready: bool
    reasons: tuple[str, ...] = ()


class ClocksLocked(EventBody, frozen=True, kw_only=True, tag="clocks_locked"):
    """Clocks were locked and confirmed; `steps` is what was done for it (nothing when they already were)."""

    device: str
    steps: tuple[str, ...] = ()
    again: bool = False


class LockLost(EventBody, frozen=True, kw_only=True, tag="lock_lost"):
    """The clocks were found otherwise than locked; what was measured since the last good look is invalid.

    `invalidated` is how many stored measurements that concerned.
    """

    device: str
    reason: str
    invalidated: int = 0


class ClocksRestored(EventBody, frozen=True, kw_only=True, tag="clocks_restored"):
    """What the device had before was put back, or not (`problem`)."""

    device: str
    steps: tuple[str, ...] = ()
    problem: str = ""


class LinkLost(EventBody, frozen=True, kw_only=True, tag="link_lost"):
    """The link to the device broke; the run waits for it and goes on with the same candidate."""

    device: str
    reason: str


class LinkBack(EventBody, frozen=True, kw_only=True, tag="link_back"):
    """The link to the device is up again, `after_s` seconds later."""

    device: str
    after_s: float


class DeviceSampled(EventBody, frozen=True, kw_only=True, tag="device_sampled"):
    """State of the device between timing blocks; None where it could not be read.

    `throttle_counts` are events since the board's boot, by counter.
    """

    cpu_freq_hz: float | None = None
    gpu_freq_hz: float | None = None
    memory_freq_hz: float | None = None
    throttle_counts: tuple[tuple[str, int], ...] = ()
    temperature_c: float | None = None
    load_1min: float | None = None
    memory_available_bytes: int | None = None


class TuningKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel that is to be tuned: `weight` calls in the program, each `plain_latency_s` under the default
    schedule (None where that could not be measured), and how many trials it gets at most (0: none)."""

    name: str
    digest: str
    search_class: str
    weight: int
    plain_latency_s: float | None
    budget: int


class TuningStarted(EventBody, frozen=True, kw_only=True, tag="tuning_started"):
    """A task's kernels are known and will be tuned in this order; `resumed` when earlier trials are kept."""

    task: str
    device: str
    target: str
    tvm_version: str
    kernels: tuple[TuningKernel, ...]
    resumed: bool = False


class TuningProgress(EventBody, frozen=True, kw_only=True, tag="tuning_progress"):
    """A batch of trials of one kernel was measured.

    `trials` and `failed` count all of the kernel's, `search` its searches from 0. The three times are what
    the batch took to be generated, built and measured. `best_latency_s` is None as long as nothing ran.
    """

    task: str
    kernel: str
    digest: str
    search: int
    trials: int
    budget: int
    failed: int
    best_latency_s: float | None
    plain_latency_s: float | None
    generate_s: float
    build_s: float
    measure_s: float


class KernelTuned(EventBody, frozen=True, kw_only=True, tag="kernel_tuned"):
    """A kernel is done. `state` says how (`tuned`, `plain`, `fallback`, `failed`), `error` why not better.

    Latencies are those of the last measurement side by side; `converged_at` is T_conv in trials, None where
    the search ended before.
    """

    task: str
    kernel: str
    digest: str
    state: str
    trials: int
    plain_latency_s: float | None
    tuned_latency_s: float | None
    converged_at: int | None = None
    error: str = ""


class TuningEnded(EventBody, frozen=True, kw_only=True, tag="tuning_ended"):
    """All kernels of a task are done. The times are sums over kernels times weight, None where one is not known."""

    task: str
    device: str
    trials: int
    elapsed_s: float
    plain_latency_s: float | None
    tuned_latency_s: float | None


class RunFinished(EventBody, frozen=True, kw_only=True, tag="run_finished"):
    """The verdict. The last event of a run that was not killed."""

    result: RunResult


class RunInterrupted(EventBody, frozen=True, kw_only=True, tag="run_interrupted"):
    """The run was stopped on request before a verdict; it can be resumed."""

    reason: str = ""


AnyEvent = (
    RunStarted
    | DeviceAwaited
    | StepStarted
    | StepProgress
    | StepFinished
    | LogLine
    | Lowered
    | Built
    | SeedVerified
    | PairsTimed
    | DeviceChecked
    | ClocksLocked
    | LockLost
    | ClocksRestored
    | LinkLost
    | LinkBack
    | DeviceSampled
    | TuningStarted
    | TuningProgress
    | KernelTuned
    | TuningEnded
    | RunFinished
    | RunInterrupted
)


class StoredEvent(msgspec.Struct, frozen=True):
    """An event as read back: `id` grows over the whole store, `time_s` is seconds since the epoch."""

    id: int
    run: str
    time_s: float
    body: AnyEvent
