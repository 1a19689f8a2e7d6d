"""Well-formed records for tests; every field can be overridden."""

from __future__ import annotations

from typing import Any

import msgspec

from edgelab.results import BaselineInfo, Latency, RobustVariation, RunResult
from edgelab.store.records import MeasurementRecord, RunRecord


def a_run(run_id: str = "261201-aaaaa", **changes: Any) -> RunRecord:
    """Return a queued run of task `softmax` on `local`."""
    run = RunRecord(id=run_id, task="softmax", device="local", backend="llvm", created_s=1000.0)
    return msgspec.structs.replace(run, **changes)


def a_result(run_id: str = "261201-aaaaa", **changes: Any) -> RunResult:
    """Return an `ok` verdict of strict quality."""
    result = RunResult(
        run=run_id,
        task="softmax",
        device="local",
        backend="llvm",
        verdict="ok",
        compiled=True,
        correct=True,
        latency_s=Latency(1.0e-4, 1.5e-4),
        speedup=1.5,
        speedup_ci95=(1.49, 1.51),
        quality="strict",
        rcv=RobustVariation(0.01, 0.02, 0.01),
        pairs=100,
        calls_per_block=10,
        peak_memory_bytes=1 << 20,
        planned_memory_bytes=1 << 19,
        baseline=BaselineInfo("plain", "b" * 64, '{"kind":"llvm"}', "0.27.0"),
        candidate_program="c" * 64,
        elapsed_s=3.5,
    )
    return msgspec.structs.replace(result, **changes)


def a_measurement(run_id: str = "261201-aaaaa", **changes: Any) -> MeasurementRecord:
    """Return a strict measurement with a speed-up of 1.5."""
    measurement = MeasurementRecord(
        id=0,
        run=run_id,
        task="softmax",
        device="local",
        backend="llvm",
        simulated=False,
        created_s=1000.0,
        candidate_program="c" * 64,
        baseline_program="b" * 64,
        baseline_kind="plain",
        latency_candidate_s=1.0e-4,
        latency_baseline_s=1.5e-4,
        speedup=1.5,
        speedup_low=1.49,
        speedup_high=1.51,
        rcv_candidate=0.01,
        rcv_baseline=0.02,
        rcv_speedup=0.01,
        quality="strict",
        verdict="ok",
        pairs=100,
        calls_per_block=10,
        peak_memory_bytes=1 << 20,
        planned_memory_bytes=1 << 19,
        series_blob="d" * 64,
        valid=True,
    )
    return msgspec.structs.replace(measurement, **changes)
