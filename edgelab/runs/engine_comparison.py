"""Engines measured on this machine: its lease, warm services, one task after the other, every verdict kept."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

from edgelab.bench.engines.comparison import Comparison, Measured, TaskComparison
from edgelab.bench.engines.engine import Engine
from edgelab.bench.engines.result import EngineResult
from edgelab.bench.evaluation import EvaluationRequest
from edgelab.bench.phases import Emit
from edgelab.bench.services import Services
from edgelab.bench.tasks import TaskSpec
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.home import Home
from edgelab.lab.connection import open_board
from edgelab.lab.inventory import this_machine
from edgelab.lab.session import Session
from edgelab.store.blobs import BlobStore
from edgelab.store.records import EngineMeasurementRecord
from edgelab.store.writer import StoreWriter


async def compare_engines(
    home: Home,
    tasks: Sequence[TaskSpec],
    engines: Sequence[Engine],
    comparison: Comparison,
    policy: TimingPolicy,
    emit: Emit,
) -> AsyncGenerator[EngineResult, None]:
    """Measure `engines` on `tasks` on this machine and store each verdict before it is yielded.

    Holds the machine's lease, so that no run measures meanwhile. Close the iterator to end early: that ends
    every process it started. Raises `NotReadyError` when the store cannot be written, and what opening the
    machine raises.
    """
    home.ensure()
    device = this_machine()
    session = Session("engines", emit, lambda since_s: 0, checked=False)
    with StoreWriter(home.database) as writer:
        async with (
            open_board(device, home) as board,
            session.on(board),
            Services(board.transport, home.cache, emit) as services,
        ):
            for task in tasks:
                request = EvaluationRequest(task=task, secret=home.secret(), policy=policy, cache=home.cache)
                async for measured in TaskComparison(request, comparison, services, emit).measure(engines):
                    if measured.result.verdict != "unavailable":
                        blobs = BlobStore(home.blobs)
                        writer.add_engine_measurement(record_of(measured, task, device.name, blobs))
                    yield measured.result


def record_of(measured: Measured, task: TaskSpec, device: str, blobs: BlobStore) -> EngineMeasurementRecord:
    """Return the row of a verdict; its raw series become a blob."""
    result, blob = measured.result, None
    if measured.series is not None:
        # The baseline has the candidate's place in these pairs (see `TaskComparison`).
        raw = {"engine_s": measured.series.baseline_s, "baseline_s": measured.series.candidate_s}
        blob = blobs.put(msgspec.json.encode(raw))
    return EngineMeasurementRecord(
        created_s=time.time(),
        task=result.task,
        task_digest=task.digest,
        device=device,
        engine=result.engine,
        engine_version=result.version or "",
        versions=msgspec.json.encode(result.versions).decode(),
        baseline_kind=result.baseline.kind,
        baseline_version=result.baseline.version,
        baseline_program=result.baseline.program,
        baseline_target=result.baseline.target,
        verdict=result.verdict,
        reason=result.reason,
        detail=result.detail,
        threads=result.threads,
        settings=msgspec.json.encode(result.settings).decode(),
        series_blob=blob,
        **_numbers(result),
    )


def _numbers(result: EngineResult) -> dict[str, Any]:
    low, high = result.baseline_speedup_ci95 or (None, None)
    return {
        "quality": result.quality,
        "latency_engine_s": result.latency_s.engine,
        "latency_baseline_s": result.latency_s.baseline,
        "baseline_speedup": result.baseline_speedup,
        "speedup_low": low,
        "speedup_high": high,
        "rcv_engine": result.rcv.engine,
        "rcv_baseline": result.rcv.baseline,
        "rcv_speedup": result.rcv.speedup,
        "prepare_s": result.prepare_s,
        "pairs": result.pairs,
        "calls_per_block": result.calls_per_block,
    }
