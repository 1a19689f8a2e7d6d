"""Fixed data for the app's tests: one clock, one host, a small catalogue, runs in every state."""

from __future__ import annotations

import random
from statistics import median

from edgelab.events import (
    Built,
    DeviceSampled,
    EventBody,
    LogLine,
    Lowered,
    PairsTimed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SeedVerified,
    StepFinished,
    StepProgress,
    StepStarted,
    StoredEvent,
)
from edgelab.lab.device import Device
from edgelab.lab.host import HostState
from edgelab.results import BaselineInfo, Failure, Latency, RobustVariation, RunResult
from edgelab.store.records import MeasurementRecord, RunRecord, RunState, StepRecord
from tests.support.ui_catalogue import TASK as TASK
from tests.support.ui_catalogue import TASKS as TASKS

NOW_S = 1_788_000_000.0
"""The time in all fixed data: 2026-08-29 10:40:00 UTC."""

MIB = 1 << 20
GIB = 1 << 30

HOST = HostState(
    cpu_model="Intel(R) Xeon(R) Processor @ 2.60GHz",
    cores=8,
    cpu_freq_hz=3.47e9,
    cpu_freq_max_hz=3.9e9,
    cpu_freq_source="cpufreq/scaling_cur_freq",
    governor="performance",
    temperature_c=None,
    load_1min=1.42,
    cpu_percent=37.0,
    memory_total_bytes=16 * GIB,
    memory_available_bytes=11 * GIB,
    disk_total_bytes=200 * GIB,
    disk_free_bytes=21 * GIB,
    sampled_s=NOW_S,
)

LOCAL = Device(name="local", profile="linux-x86_64", backend="llvm", title="This machine")


class Script:
    """Builds the events of a run one after the other, with ids and times that grow."""

    def __init__(self, run: str, *, start_s: float, first_id: int = 1) -> None:
        self.run = run
        self.time_s = start_s
        self._id = first_id
        self.events: list[StoredEvent] = []

    def say(self, body: EventBody, after_s: float = 0.05) -> Script:
        self.time_s += after_s
        self.events.append(StoredEvent(self._id, self.run, self.time_s, body))
        self._id += 1
        return self

    def step(self, name: str, elapsed_s: float, summary: str = "", *, ok: bool = True) -> Script:
        self.say(StepStarted(step=name), 0.0)
        return self.say(StepFinished(step=name, ok=ok, elapsed_s=elapsed_s, summary=summary), elapsed_s)

    def begin(self) -> Script:
        self.say(RunStarted(task=TASK, device="local", backend="llvm", pid=4242))
        self.step("reference", 0.02, "cached, 3 seeds")
        self.say(StepStarted(step="build"), 0.0)
        self.say(
            Lowered(
                role="candidate",
                adapter="llvm",
                program="a" * 64,
                kernels=("fused_conv2d_relu",),
                cost_s=0.21,
            )
        )
        self.say(
            Built(role="candidate", program="a" * 64, artefact="b" * 64, size_bytes=49_000, cost_s=0.94), 0.9
        )
        self.say(
            Built(
                role="baseline",
                program="c" * 64,
                artefact="d" * 64,
                size_bytes=51_200,
                cost_s=0.0,
                cached=True,
            )
        )
        return self

    def verify(self) -> Script:
        self.say(StepFinished(step="build", ok=True, elapsed_s=1.31, summary="2 programs, 1 from cache"))
        self.step("worker", 0.31, "pid 4250")
        self.say(StepStarted(step="verify"), 0.0)
        for seed in (11, 23, 47):
            self.say(
                SeedVerified(role="candidate", seed=seed, ok=True, max_abs_error=2.4e-6, tolerated=1.1e-4)
            )
        return self.say(StepFinished(step="verify", ok=True, elapsed_s=0.42, summary="3 seeds equal"))

    def time(self, batches: int, *, of: int = 400, noise: float = 0.02, quality: str = "none") -> Script:
        rng = random.Random(7)
        candidate: list[float] = []
        baseline: list[float] = []
        self.say(StepStarted(step="time"), 0.0)
        for batch in range(batches):
            drift = 1.0 + 0.03 * (batch / max(batches, 1))
            new_a = [4.03e-3 * drift * rng.lognormvariate(0, noise) for _ in range(10)]
            new_b = [5.27e-3 * drift * rng.lognormvariate(0, noise) for _ in range(10)]
            candidate += new_a
            baseline += new_b
            ratio = median(b / a for a, b in zip(candidate, baseline, strict=True))
            half = 0.04 / (len(candidate) ** 0.5)
            done = batch + 1 == batches
            self.say(StepProgress(step="time", done=len(candidate), total=of))
            self.say(
                PairsTimed(
                    candidate_s=tuple(new_a),
                    baseline_s=tuple(new_b),
                    pairs=len(candidate),
                    max_pairs=of,
                    calls_per_block=2,
                    latency_candidate_s=median(candidate),
                    latency_baseline_s=median(baseline),
                    speedup=ratio,
                    speedup_ci95=(ratio - half, ratio + half),
                    rcv_candidate=0.021,
                    rcv_baseline=0.018,
                    rcv_speedup=noise * 1.4,
                    quality=quality if done else "none",
                )
            )
        return self.say(
            DeviceSampled(
                cpu_freq_hz=3.5e9, temperature_c=47.0, load_1min=1.2, memory_available_bytes=11 * GIB
            )
        )


def result(run: str, **changes: object) -> RunResult:
    values: dict[str, object] = {
        "run": run,
        "task": TASK,
        "device": "local",
        "backend": "llvm",
        "verdict": "ok",
        "compiled": True,
        "correct": True,
        "latency_s": Latency(4.03e-3, 5.27e-3),
        "speedup": 1.308,
        "speedup_ci95": (1.302, 1.315),
        "quality": "strict",
        "rcv": RobustVariation(0.021, 0.018, 0.028),
        "pairs": 200,
        "calls_per_block": 2,
        "peak_memory_bytes": 44 * MIB,
        "planned_memory_bytes": 5 * MIB,
        "baseline": BaselineInfo("plain", "c" * 64, "llvm -mcpu=icelake-server", "0.27.0"),
        "candidate_program": "a" * 64,
        "elapsed_s": 6.42,
    }
    return RunResult(**(values | changes))  # type: ignore[arg-type]


def record(run: str, state: RunState = "done", **changes: object) -> RunRecord:
    values: dict[str, object] = {
        "id": run,
        "task": TASK,
        "device": "local",
        "backend": "llvm",
        "state": state,
        "pid": 4242,
        "created_s": NOW_S - 20.0,
        "started_s": NOW_S - 19.5,
    }
    return RunRecord(**(values | changes))  # type: ignore[arg-type]


def measurement(id: int, run: str, **changes: object) -> MeasurementRecord:
    values: dict[str, object] = {
        "id": id,
        "run": run,
        "task": TASK,
        "device": "local",
        "backend": "llvm",
        "simulated": False,
        "created_s": NOW_S - 600.0 * id,
        "candidate_program": "a" * 64,
        "baseline_program": "c" * 64,
        "baseline_kind": "plain",
        "latency_candidate_s": 4.03e-3,
        "latency_baseline_s": 5.27e-3,
        "speedup": 1.308,
        "speedup_low": 1.302,
        "speedup_high": 1.315,
        "rcv_candidate": 0.021,
        "rcv_baseline": 0.018,
        "rcv_speedup": 0.028,
        "quality": "strict",
        "verdict": "ok",
        "pairs": 200,
        "calls_per_block": 2,
        "peak_memory_bytes": 44 * MIB,
        "planned_memory_bytes": 5 * MIB,
        "series_blob": "e" * 64,
        "valid": True,
    }
    return MeasurementRecord(**(values | changes))  # type: ignore[arg-type]


class Run:
    """A run as the store would have it: record, events, steps, and the state by its lock."""

    def __init__(self, made: RunRecord, events: list[StoredEvent], state: RunState | None = None) -> None:
        self.record = made
        self.events = events
        self.state: RunState = state or made.state

    @property
    def steps(self) -> list[StepRecord]:
        steps: dict[str, StepRecord] = {}
        for event in self.events:
            body = event.body
            if isinstance(body, StepStarted):
                steps[body.step] = StepRecord(run=self.record.id, name=body.step, started_s=event.time_s)
            elif isinstance(body, StepFinished):
                began = steps[body.step]
                steps[body.step] = StepRecord(
                    run=began.run,
                    name=began.name,
                    started_s=began.started_s,
                    elapsed_s=body.elapsed_s,
                    ok=body.ok,
                    summary=body.summary,
                )
        return list(steps.values())


def running() -> Run:
    script = Script("260829-k7f3q", start_s=NOW_S - 19.5).begin().verify().time(12)
    for index in range(6):
        script.say(
            LogLine(source="worker", text=f"timing block {index + 1}: order {'A B' if index % 2 else 'B A'}")
        )
    script.say(
        LogLine(level="warning", source="worker", text="load above 1.0: other work runs on this machine")
    )
    return Run(record(script.run, "running"), script.events)


def finished() -> Run:
    script = (
        Script("260829-ok001", start_s=NOW_S - 19.5, first_id=1000)
        .begin()
        .verify()
        .time(20, quality="strict")
    )
    script.say(StepFinished(step="time", ok=True, elapsed_s=3.1, summary="200 pairs, strict"))
    script.step("recheck", 0.12, "fresh inputs equal")
    made = result(script.run)
    script.say(RunFinished(result=made))
    return Run(record(script.run, "done", finished_s=NOW_S - 12.0, result=made), script.events)


def failed() -> Run:
    script = Script("260829-bad01", start_s=NOW_S - 19.5, first_id=2000).begin()
    script.say(StepFinished(step="build", ok=True, elapsed_s=1.31, summary="2 programs, 1 from cache"))
    script.step("worker", 0.31, "pid 4250")
    script.say(StepStarted(step="verify"), 0.0)
    message = "Output 0 differs from PyTorch at [0, 17, 4, 9]: got 0.73125, expected 0.71402."
    script.say(
        SeedVerified(
            role="candidate", seed=11, ok=False, max_abs_error=0.0931, tolerated=1.1e-4, message=message
        )
    )
    script.say(StepFinished(step="verify", ok=False, elapsed_s=0.2, summary="seed 11 differs"))
    failure = Failure(
        "numeric",
        f"{TASK}: output 0 differs from PyTorch at [0, 17, 4, 9]: got 0.73125, expected 0.71402.",
        "worst element [0, 90, 111, 3]: got -0.21004, expected -0.11694, tolerated 0.00011\n"
        "12,544 of 1,204,224 elements differ",
    )
    made = result(
        script.run,
        verdict="failed",
        failure=failure,
        correct=False,
        latency_s=Latency(),
        speedup=None,
        speedup_ci95=None,
        quality="none",
        rcv=RobustVariation(),
        pairs=0,
        peak_memory_bytes=None,
        elapsed_s=2.31,
    )
    script.say(RunFinished(result=made))
    return Run(record(script.run, "done", finished_s=NOW_S - 16.0, result=made), script.events)


def unstable() -> Run:
    script = Script("260829-wob01", start_s=NOW_S - 19.5, first_id=3000).begin().verify().time(40, noise=0.12)
    script.say(StepFinished(step="time", ok=True, elapsed_s=9.8, summary="400 pairs, cap reached"))
    made = result(
        script.run,
        verdict="unstable",
        quality="none",
        pairs=400,
        speedup=1.29,
        speedup_ci95=(1.262, 1.331),
        rcv=RobustVariation(0.14, 0.12, 0.17),
        elapsed_s=14.2,
    )
    script.say(RunFinished(result=made))
    return Run(record(script.run, "done", finished_s=NOW_S - 5.0, result=made), script.events)


def lost() -> Run:
    script = Script("260829-gone1", start_s=NOW_S - 300.0, first_id=4000).begin().verify().time(5)
    made = record(script.run, "running", created_s=NOW_S - 301.0, started_s=NOW_S - 300.0)
    return Run(made, script.events, state="lost")


def interrupted() -> Run:
    script = Script("260829-stop1", start_s=NOW_S - 300.0, first_id=5000).begin().verify().time(5)
    script.say(RunInterrupted(reason="stopped by the operator"))
    made = record(script.run, "interrupted", started_s=NOW_S - 300.0, finished_s=NOW_S - 280.0)
    return Run(made, script.events)


MEASUREMENTS = (
    measurement(1, "260829-ok001"),
    measurement(
        2,
        "260829-soft1",
        task="softmax_vocab_32k",
        latency_candidate_s=109.5e-6,
        latency_baseline_s=98.2e-6,
        speedup=0.897,
        speedup_low=0.893,
        speedup_high=0.901,
        quality="paired",
        peak_memory_bytes=640_000,
    ),
    measurement(
        3,
        "260829-deq01",
        task="dequant_matmul_2048x5632",
        latency_candidate_s=2.1e-3,
        latency_baseline_s=39.7e-3,
        speedup=18.9,
        speedup_low=18.72,
        speedup_high=19.11,
        device="sim-orin",
        backend="cuda",
        simulated=True,
    ),
)

UNSTABLE = measurement(
    4,
    "260829-wob01",
    created_s=NOW_S - 5.0,
    speedup=1.29,
    speedup_low=1.262,
    speedup_high=1.331,
    rcv_candidate=0.14,
    rcv_baseline=0.12,
    rcv_speedup=0.17,
    quality="none",
    verdict="unstable",
    pairs=400,
)

CLOCKS_HZ = tuple(3.47e9 - (index % 11 == 0) * 0.06e9 for index in range(110))
LOADS_PERCENT = tuple(30.0 + 40.0 * (index % 40 > 25) + index % 7 for index in range(110))
