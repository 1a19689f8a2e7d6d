"""Rows of the store as frozen objects, validated where they leave SQLite."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.events import DeviceSampled
from edgelab.results import RunResult

RunState = Literal["queued", "running", "done", "interrupted", "lost"]
"""`lost` is never stored: a run stored as running whose lock nobody holds is shown as lost."""


RunKind = Literal["run", "tune"]
"""An evaluation, which ends with a verdict, or the tuning of a task's kernels, which has none."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Times are seconds since the epoch; `result` is there once the run has a verdict."""

    id: str
    kind: RunKind = "run"
    task: str
    device: str
    backend: str
    simulated: bool = False
    candidate: str = ""
    candidate_path: str = ""
    baseline_kind: str = "plain"
    state: RunState = "queued"
    pid: int | None = None
    created_s: float
    started_s: float | None = None
    finished_s: float | None = None
    result: RunResult | None = None


class StepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a run; `ok` is None while it is under way."""

    run: str
    name: str
    started_s: float
    elapsed_s: float | None = None
    ok: bool | None = None
    summary: str = ""


class StoredSample(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a device that a run read between its timing blocks."""

    run: str
    time_s: float
    state: DeviceSampled


class MeasurementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One paired measurement. `series_blob` names the raw series (JSON: candidate_s, baseline_s)."""

    id: int
    run: str
    task: str
    device: str
    backend: str
    simulated: bool
    created_s: float
    candidate_program: str
    baseline_program: str
    baseline_kind: str
    latency_candidate_s: float
    latency_baseline_s: float
    speedup: float
    speedup_low: float
    speedup_high: float
    rcv_candidate: float
    rcv_baseline: float
    rcv_speedup: float
    quality: str
    verdict: str
    pairs: int
    calls_per_block: int
    peak_memory_bytes: int | None
    planned_memory_bytes: int | None
    series_blob: str
    valid: bool


class EngineMeasurementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One engine on one task, measured in pairs with a baseline, or the reason why it was not.

    `baseline_speedup` is the median of t_engine / t_baseline. `versions` and `settings` are JSON objects;
    `series_blob` names the raw series (JSON: engine_s, baseline_s), None where nothing was timed.
    """

    id: int = 0
    created_s: float
    task: str
    task_digest: str
    device: str
    engine: str
    engine_version: str
    versions: str
    baseline_kind: str
    baseline_version: str
    baseline_program: str
    baseline_target: str
    verdict: str
    reason: str
    detail: str
    quality: str
    latency_engine_s: float | None
    latency_baseline_s: float | None
    baseline_speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    rcv_engine: float | None
    rcv_baseline: float | None
    rcv_speedup: float | None
    prepare_s: float | None
    threads: int | None
    pairs: int
    calls_per_block: int
    settings: str
    series_blob: str | None
