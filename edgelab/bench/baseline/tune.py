"""Tuning of a task: its kernels in the order of their share of the time, each by a search of its own."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from edgelab.bench.baseline.budget import TRIALS_PER_BATCH, BudgetTable
from edgelab.bench.baseline.kernel_tuning import KernelTuning, SearchSettings
from edgelab.bench.baseline.measuring import CLOSE, KernelMeasuring
from edgelab.bench.baseline.stopping import StopRule
from edgelab.bench.device_watch import UNWATCHED, DeviceWatch
from edgelab.bench.phases import Emit
from edgelab.bench.reference import VERIFICATION_SEEDS, prepare
from edgelab.bench.services import Services
from edgelab.bench.tasks import TaskSpec
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.events import KernelTuned, LogLine, TuningEnded, TuningKernel, TuningStarted
from edgelab.kernel.tuning.client import Tuner
from edgelab.kernel.tuning.protocol import (
    Extracted,
    ExtractedKernel,
    ExtractRequest,
    Measurement,
    TuningRecord,
)
from edgelab.store.tuned import TunedKernel, TunedStore


class TuneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to tune: a task for a device profile.

    `target` is what programs are built for, None for this machine's CPU. `trials` is the budget of every
    kernel, None for the calibrated `budgets`. `resume` goes on from what is stored; otherwise that is dropped first.
    """

    task: TaskSpec
    device: str
    profile: str
    backend: str = "llvm"
    target: dict[str, Any] | None = None
    cache: Path
    seed: int = 1
    trials: int | None = None
    budgets: BudgetTable
    rule: StopRule = StopRule()
    trials_per_batch: int = TRIALS_PER_BATCH
    resume: bool = False
    reference_limit_s: float = 300.0


class TunedTask(msgspec.Struct, frozen=True):
    """The kernels of a tuned task, in the order of their share of its time."""

    task: str
    kernels: tuple[TunedKernel, ...]


def target_text(target: Mapping[str, object]) -> str:
    """A target as the text that stored kernels are found by."""
    return msgspec.json.encode(target, order="deterministic").decode()


class TaskTuning:
    """One task over warm services and a store."""

    def __init__(
        self,
        request: TuneRequest,
        services: Services,
        store: TunedStore,
        emit: Emit,
        watch: DeviceWatch = UNWATCHED,
    ) -> None:
        self._request = request
        self._services = services
        self._store = store
        self._emit = emit
        self._measuring = KernelMeasuring(services, watch)

    async def run(self) -> TunedTask:
        """Tune every kernel. Cancellation leaves no process behind, and what was measured is stored.

        Raises EvaluationFailure (`infrastructure`) when a kernel had no trial that ran: that is no baseline.
        """
        began_s = time.monotonic()
        parent = self._request.cache / "tuning"
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".work-", dir=parent))
        try:
            async with Tuner() as tuner:
                kernels = await self._tune(tuner, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self._emit(_ended(self._request, kernels, time.monotonic() - began_s))
        failed = [kernel for kernel in kernels if kernel.state == "failed"]
        if failed:
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"Nothing could be measured for kernel {failed[0].name} of {self._request.task.name} on "
                f"{self._request.device}: {failed[0].error}.",
                advice="This is no baseline. Check the device, then tune again.",
            )
        return TunedTask(self._request.task.name, kernels)

    async def _tune(self, tuner: Tuner, folder: Path) -> tuple[TunedKernel, ...]:
        extracted, target = await self._extract(tuner, folder)
        plain = await self._plain(extracted)
        order = sorted(range(len(plain)), key=lambda index: -_share(extracted.kernels[index], plain[index]))
        rows = {
            index: self._row(extracted.kernels[index], plain[index], target, extracted.tvm_version)
            for index in order
        }
        self._emit(self._started(extracted, rows, target))
        settings = SearchSettings(
            target=extracted.target,
            seed=self._request.seed,
            rule=self._request.rule,
            workers=len(os.sched_getaffinity(0)),
            trials_per_batch=self._request.trials_per_batch,
        )
        return tuple(
            [await self._kernel(extracted.kernels[i], rows[i], settings, tuner, folder) for i in order]
        )

    async def _extract(self, tuner: Tuner, folder: Path) -> tuple[Extracted, str]:
        request = self._request
        bundle = await prepare(
            request.task,
            request.cache,
            seeds=VERIFICATION_SEEDS,
            time_limit_s=request.reference_limit_s,
            on_log=lambda text: self._emit(LogLine(source="reference", text=text)),
        )
        host = await (await self._services.builder()).host()
        target = request.target or host.target
        extracted = await tuner.extract(
            ExtractRequest(
                program_path=str(bundle.program_path),
                params_path=str(bundle.params_path),
                target=await self._with_cores(target),
                folder=str(folder),
            )
        )
        return extracted, target_text(target)

    async def _with_cores(self, target: dict[str, Any]) -> dict[str, Any]:
        """The target with the number of the device's cores, which MetaSchedule asks for."""
        if target["kind"] != "llvm" or "num-cores" in target:
            return target
        return {**target, "num-cores": (await (await self._services.worker()).hello()).cpu_count or 1}

    async def _plain(self, extracted: Extracted) -> list[float | None]:
        """Latency of each kernel under the default schedule; None where that does not run."""
        found: list[float | None] = []
        plain = extracted.plain
        for index, kernel in enumerate(extracted.kernels):
            alone = msgspec.structs.replace(
                plain, places=(plain.places[index],), errors=(plain.errors[index],)
            )
            measured: Measurement = (await self._measuring.measure(alone, kernel.tensors, CLOSE))[0]
            found.append(TuningRecord("", measured.run_s).latency_s)
        return found

    def _row(
        self, kernel: ExtractedKernel, plain_s: float | None, target: str, tvm_version: str
    ) -> TunedKernel:
        row = TunedKernel(
            task=self._request.task.name,
            profile=self._request.profile,
            target=target,
            tvm_version=tvm_version,
            digest=kernel.digest,
            name=kernel.name,
            search_class=kernel.search_class,
            weight=kernel.weight,
            plain_latency_s=plain_s,
        )
        before = self._store.kernel(row.key) if self._request.resume else None
        if before is None or before.state == "failed":
            self._store.forget(row.key)
            return row
        return before

    def _budget(self, kernel: ExtractedKernel) -> int:
        if kernel.untunable:
            return 0
        if self._request.trials is not None:
            return self._request.trials
        return self._request.budgets.of(self._request.backend, kernel.search_class)

    async def _kernel(
        self, kernel: ExtractedKernel, row: TunedKernel, settings: SearchSettings, tuner: Tuner, folder: Path
    ) -> TunedKernel:
        budget = self._budget(kernel)
        if kernel.untunable:
            tuned = msgspec.structs.replace(row, state="fallback", error=kernel.untunable)
            self._store.put_kernel(tuned)
        elif row.state in ("tuned", "plain", "fallback"):
            tuned = row
        else:
            tuning = KernelTuning(kernel, row, budget, settings, self._store, folder, self._emit)
            tuned = await tuning.run(tuner, self._measuring)
        self._emit(
            KernelTuned(
                task=tuned.task,
                kernel=tuned.name,
                digest=tuned.digest,
                state=tuned.state,
                trials=tuned.trials,
                plain_latency_s=tuned.plain_latency_s,
                tuned_latency_s=tuned.tuned_latency_s,
                converged_at=tuned.converged_at,
                error=tuned.error,
            )
        )
        return tuned

    def _started(self, extracted: Extracted, rows: Mapping[int, TunedKernel], target: str) -> TuningStarted:
        return TuningStarted(
            task=self._request.task.name,
            device=self._request.device,
            target=target,
            tvm_version=extracted.tvm_version,
            kernels=tuple(
                TuningKernel(
                    name=row.name,
                    digest=row.digest,
                    search_class=row.search_class,
                    weight=row.weight,
                    plain_latency_s=row.plain_latency_s,
                    budget=self._budget(extracted.kernels[index]),
                )
                for index, row in rows.items()
            ),
            resumed=any(row.trials for row in rows.values()),
        )


def _share(kernel: ExtractedKernel, plain_s: float | None) -> float:
    """The kernel's part of the task's time in seconds. One that could not be measured comes first."""
    return math.inf if plain_s is None else kernel.weight * plain_s


def _ended(request: TuneRequest, kernels: Sequence[TunedKernel], elapsed_s: float) -> TuningEnded:
    return TuningEnded(
        task=request.task.name,
        device=request.device,
        trials=sum(kernel.trials for kernel in kernels),
        elapsed_s=elapsed_s,
        plain_latency_s=_sum([(kernel.weight, kernel.plain_latency_s) for kernel in kernels]),
        tuned_latency_s=_sum(
            [
                (kernel.weight, kernel.tuned_latency_s if kernel.state == "tuned" else kernel.plain_latency_s)
                for kernel in kernels
            ]
        ),
    )


def _sum(parts: Sequence[tuple[int, float | None]]) -> float | None:
    if any(latency_s is None for _, latency_s in parts):
        return None
    return sum(weight * latency_s for weight, latency_s in parts if latency_s is not None)
