"""The verdict: what an evaluation found, or why it found nothing, as one `RunResult`."""

from __future__ import annotations

import time

import msgspec

from edgelab.bench.evaluation import Evaluated, Evaluation, Progress
from edgelab.errors import EdgeLabError, EvaluationFailure, FailureClass
from edgelab.results import BaselineInfo, Failure, Latency, RobustVariation, RunResult
from edgelab.runs.spec import RunSpec
from edgelab.store.records import MeasurementRecord


def failure_of(error: EdgeLabError) -> Failure:
    """Return the failure to show for `error`; what is nobody's candidate's fault is `infrastructure`."""
    known = isinstance(error, EvaluationFailure)
    return Failure(
        failure_class=error.failure_class if known else FailureClass.INFRASTRUCTURE,
        message=error.message,
        detail=error.detail if known else "",
        advice=error.advice,
        exit_code=int(error.exit_code),
    )


def failed(
    run_id: str, spec: RunSpec, task: str, evaluation: Evaluation | None, error: EdgeLabError
) -> RunResult:
    """Return the verdict of an evaluation that ended with `error`, or never began (None)."""
    return msgspec.structs.replace(
        _common(run_id, spec, task, evaluation), verdict="failed", failure=failure_of(error)
    )


def judged(run_id: str, spec: RunSpec, task: str, evaluation: Evaluation, found: Evaluated) -> RunResult:
    """Return the verdict of a correct candidate: `ok` when the timing holds, else `unstable`."""
    statistics = found.series.statistics
    return msgspec.structs.replace(
        _common(run_id, spec, task, evaluation),
        verdict="unstable" if statistics.quality == "none" else "ok",
        latency_s=Latency(statistics.latency_candidate_s, statistics.latency_baseline_s),
        speedup=statistics.speedup,
        speedup_ci95=statistics.speedup_ci95,
        quality=statistics.quality,
        rcv=RobustVariation(statistics.rcv_candidate, statistics.rcv_baseline, statistics.rcv_speedup),
        pairs=statistics.pairs,
        calls_per_block=found.series.calls_per_block,
        peak_memory_bytes=found.peak_memory_bytes,
        planned_memory_bytes=found.planned_memory_bytes,
        floor_s=found.floor.latency_s if found.floor else None,
    )


def _common(run_id: str, spec: RunSpec, task: str, evaluation: Evaluation | None) -> RunResult:
    progress = evaluation.progress if evaluation else Progress()
    baseline = None
    if progress.baseline is not None:
        baseline = BaselineInfo(
            kind=spec.baseline_kind,
            program=progress.baseline.digest,
            target=progress.target,
            tvm_version=progress.tvm_version,
        )
    return RunResult(
        run=run_id,
        task=task,
        device=spec.device,
        backend=spec.backend,
        simulated=spec.simulated,
        verdict="failed",
        compiled=progress.compiled,
        correct=progress.correct,
        baseline=baseline,
        candidate_program=progress.candidate.digest if progress.candidate else "",
        elapsed_s=evaluation.clock.elapsed_s if evaluation else 0.0,
        phase_s=dict(evaluation.clock.phase_s) if evaluation else {},
    )


def measurement_of(result: RunResult, found: Evaluated, series_blob: str) -> MeasurementRecord:
    """Return the row of a measurement; `series_blob` names its raw series."""
    statistics = found.series.statistics
    low, high = statistics.speedup_ci95
    return MeasurementRecord(
        id=0,
        run=result.run,
        task=result.task,
        device=result.device,
        backend=result.backend,
        simulated=result.simulated,
        created_s=time.time(),
        candidate_program=result.candidate_program,
        baseline_program=result.baseline.program if result.baseline else "",
        baseline_kind=result.baseline.kind if result.baseline else "",
        latency_candidate_s=statistics.latency_candidate_s,
        latency_baseline_s=statistics.latency_baseline_s,
        speedup=statistics.speedup,
        speedup_low=low,
        speedup_high=high,
        rcv_candidate=statistics.rcv_candidate,
        rcv_baseline=statistics.rcv_baseline,
        rcv_speedup=statistics.rcv_speedup,
        quality=statistics.quality,
        verdict=result.verdict,
        pairs=statistics.pairs,
        calls_per_block=found.series.calls_per_block,
        peak_memory_bytes=found.peak_memory_bytes,
        planned_memory_bytes=found.planned_memory_bytes,
        series_blob=series_blob,
        valid=result.verdict == "ok",
    )
