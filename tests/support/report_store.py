"""A store with results worth a report: two devices, all verdicts, hostile texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgelab.results import Failure, Latency
from edgelab.store.writer import StoreWriter
from tests.support.records import a_measurement, a_result, a_run

HOSTILE = "<script>alert(1)</script>\x1b[2J'\"&"


def record_result(writer: StoreWriter, run_id: str, **changes: Any) -> None:
    """Record a finished run as the run process does; `candidate_path` and `created_s` are the run's."""
    created_s = changes.pop("created_s", 1000.0)
    candidate_path = changes.pop("candidate_path", "")
    result = a_result(run_id, **changes)
    place: dict[str, Any] = {
        "task": result.task, "device": result.device, "backend": result.backend, "simulated": result.simulated,
    }  # fmt: skip
    writer.create_run(a_run(run_id, created_s=created_s, candidate_path=candidate_path, **place))
    measurement = None
    if result.verdict != "failed":
        measurement = a_measurement(
            run_id, created_s=created_s, verdict=result.verdict, valid=result.verdict == "ok", **place
        )
    writer.finish_run(run_id, result, measurement)


def fill(database: Path) -> None:
    """Write results of local (llvm) and of a simulated Orin (cuda)."""
    with StoreWriter(database) as writer:
        record_result(writer, "261201-aaaaa", task="softmax_attn_deit")
        record_result(
            writer, "261201-bbbbb", task="softmax_attn_deit", created_s=2000.0, candidate_path="/lab/fast.py",
            speedup=3.0, speedup_ci95=(2.9, 3.1), latency_s=Latency(5e-5, 1.5e-4), candidate_program="e" * 64,
            peak_memory_bytes=3 << 20,
        )  # fmt: skip
        record_result(writer, "261201-ccccc", task="squeezenet1_1_224", verdict="unstable", quality="none")
        record_result(
            writer, "261201-ddddd", task="own_task", verdict="failed", compiled=True, correct=False, speedup=None,
            speedup_ci95=None, failure=Failure("numeric", HOSTILE), latency_s=Latency(), quality="none",
        )  # fmt: skip
        record_result(
            writer, "261201-eeeee", task=HOSTILE, verdict="failed", compiled=False, correct=False, speedup=None,
            speedup_ci95=None, failure=Failure("infrastructure", "the board is gone"), latency_s=Latency(),
            quality="none",
        )  # fmt: skip
        record_result(
            writer, "261201-fffff", task="softmax_attn_deit", device="sim-orin", backend="cuda", simulated=True,
            quality="paired", speedup=2.0, speedup_ci95=(1.9, 2.1),
        )  # fmt: skip
