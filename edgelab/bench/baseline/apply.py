"""The tuned baseline of a task: found in the store for exactly this profile, target and TVM, or refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from edgelab.bench.baseline.tune import target_text
from edgelab.bench.storage import write_atomically
from edgelab.errors import NotReadyError
from edgelab.store.tuned import TunedKernel, TunedStore


class TunedBaseline(msgspec.Struct, frozen=True):
    """Schedules of a task's kernels: TVM's trace (JSON text) by kernel digest, empty for the default schedule."""

    schedules: dict[str, str]
    kernels: tuple[TunedKernel, ...]

    def write(self, folder: Path) -> Path:
        """The schedules as a file in `folder` that is named by its content. Raises OSError."""
        content = msgspec.json.encode(self.schedules, order="deterministic")
        path = folder / f"{hashlib.sha256(content).hexdigest()}.schedules.json"
        if not path.exists():
            write_atomically(path, content)
        return path


def tuned_baseline(
    store: TunedStore, task: str, profile: str, target: Mapping[str, object], tvm_version: str, *, device: str
) -> TunedBaseline:
    """The stored baseline. Raises `NotReadyError` that says why there is none and how to get one.

    All kernels must be done, and at least one must have been measured: a baseline of default schedules alone
    would be the plain one by another name.
    """
    advice = f"Tune it: edgelab tune {task} --device {device}"
    stored = store.kernels(task, profile)
    wanted = target_text(target)
    kernels = [row for row in stored if row.tvm_version == tvm_version and row.target == wanted]
    if not kernels:
        raise NotReadyError(_why_not(task, device, stored, tvm_version), advice=f"{advice}.")
    unfinished = [row.name for row in kernels if row.state in ("open", "failed")]
    if unfinished:
        raise NotReadyError(
            f"The tuning of {task} for {device} is not finished: {', '.join(unfinished)}.",
            advice=f"Go on with it: edgelab tune {task} --device {device} --resume.",
        )
    if not any(row.trials > row.failed for row in kernels):
        errors = "; ".join(f"{row.name}: {row.error}" for row in kernels)
        raise NotReadyError(
            f"No kernel of {task} could be tuned for {device}: {errors}.",
            advice="Compare with the plain baseline: --baseline plain.",
        )
    return TunedBaseline({row.digest: row.trace for row in kernels}, tuple(kernels))


def _why_not(task: str, device: str, stored: list[TunedKernel], tvm_version: str) -> str:
    others = sorted({row.tvm_version for row in stored if row.tvm_version != tvm_version})
    if others and all(row.tvm_version != tvm_version for row in stored):
        return (
            f"{task} was tuned for {device} with TVM {', '.join(others)}, and this is TVM {tvm_version}: "
            "those schedules are not used."
        )
    if stored:
        return f"{task} was tuned for another target than that of {device}: those schedules are not used."
    return f"There is no tuned baseline of {task} for {device}."
