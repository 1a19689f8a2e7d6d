"""Tuning of one kernel: searches one after the other, what they measured kept, the best measured side by side."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from edgelab.bench.baseline.budget import TRIALS_PER_BATCH
from edgelab.bench.baseline.measuring import CLOSE, TRIAL, KernelMeasuring
from edgelab.bench.baseline.stopping import Decision, StopRule, least_relative
from edgelab.bench.phases import Emit
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.events import TuningProgress
from edgelab.kernel.tuning.client import SearchFailed, Tuner
from edgelab.kernel.tuning.protocol import (
    Bundle,
    ExtractedKernel,
    Measurement,
    SearchReply,
    SearchRequest,
    TunerEvent,
    TuningRecord,
)
from edgelab.store.tuned import TunedBatch, TunedKernel, TunedStore

_SEED_STEP = 7919
"""A search that goes on must not draw what it drew before: its seed moves by this prime for every batch."""
_LARGEST_SEED = 2**31 - 1


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What all searches of a tuning share. `workers` compile and search at the same time."""

    target: dict[str, object]
    seed: int
    rule: StopRule
    workers: int
    trials_per_batch: int = TRIALS_PER_BATCH
    build_limit_s: float = 30.0
    memory_limit_bytes: int = 8 << 30


class KernelTuning:
    """One kernel from its first trial to the schedule that is kept. Batches are stored as they are measured."""

    def __init__(
        self,
        kernel: ExtractedKernel,
        row: TunedKernel,
        budget: int,
        settings: SearchSettings,
        store: TunedStore,
        folder: Path,
        emit: Emit,
    ) -> None:
        self._kernel = kernel
        self._row = row
        self._budget = budget
        self._settings = settings
        self._store = store
        self._folder = folder
        self._emit = emit
        self._searches: list[list[TuningRecord]] = []
        self._seeds: list[int] = []
        self._finalists: tuple[str, ...] = ()
        self._exhausted = False

    async def run(self, tuner: Tuner, measuring: KernelMeasuring) -> TunedKernel:
        """Search, choose and store. Raises EvaluationFailure (infrastructure) with everything measured kept."""
        self._load()
        self._store.put_kernel(self._row)
        try:
            while True:
                await self._search(tuner, measuring)
                if self._finalists:
                    break
                self._begin_search()
        except SearchFailed as failure:
            if failure.died and self._measured():
                raise EvaluationFailure(
                    FailureClass.INFRASTRUCTURE,
                    f"The search for kernel {self._kernel.name} of {self._row.task} died: {failure.message}.",
                    detail=failure.detail,
                    advice="What was measured is kept; go on with --resume.",
                ) from failure
            return self._kept(state="fallback", error=failure.message)
        return self._row

    def _load(self) -> None:
        for batch in self._store.batches(self._row.key):
            records = [msgspec.json.decode(line, type=TuningRecord) for line in batch.records.splitlines()]
            if not self._seeds or self._seeds[-1] != batch.seed:
                self._seeds.append(batch.seed)
                self._searches.append([])
            self._searches[-1] += records
        if not self._searches:
            self._begin_search()

    def _begin_search(self) -> None:
        seed = self._settings.seed + len(self._seeds)
        self._seeds.append(seed % _LARGEST_SEED or 1)
        self._searches.append([])

    async def _search(self, tuner: Tuner, measuring: KernelMeasuring) -> None:
        """One search; leaves finalists behind when it was the last one."""
        current = self._searches[-1]
        records_path = self._folder / f"records-{len(self._searches)}.jsonl"
        records_path.write_bytes(_lines(current))
        left = self._budget - sum(map(len, self._searches)) if self._decision() == "go_on" else 0
        batches = len(current) // self._settings.trials_per_batch
        request = SearchRequest(
            kernel=self._kernel,
            target=self._settings.target,
            seed=(self._seeds[-1] + _SEED_STEP * batches) % _LARGEST_SEED or 1,
            max_trials=left,
            trials_per_batch=self._settings.trials_per_batch,
            records_path=str(records_path) if current else None,
            folder=str(self._folder),
            workers=self._settings.workers,
            build_limit_s=self._settings.build_limit_s,
            memory_limit_bytes=self._settings.memory_limit_bytes,
        )

        async def answer(event: TunerEvent) -> SearchReply:
            return await self._answer(event, measuring)

        await tuner.search(request, answer)

    async def _answer(self, event: TunerEvent, measuring: KernelMeasuring) -> SearchReply:
        if event.event == "batch" and event.bundle is not None:
            measured = await self._batch(event, event.bundle, measuring)
            return self._reply(self._decision(), measured)
        if event.event == "finalists" and event.bundle is not None:
            await self._choose(event.bundle, measuring)
            return SearchReply(stop=True)
        # The search found nothing new: what comes next is what would come after it converged.
        self._exhausted |= len(self._searches) == 1 and bool(self._searches[0])
        spent = sum(map(len, self._searches)) >= self._budget
        restarted = len(self._searches) > self._settings.rule.restarts
        return self._reply("stop" if spent or restarted else "restart", ())

    async def _batch(
        self, event: TunerEvent, bundle: Bundle, measuring: KernelMeasuring
    ) -> tuple[TuningRecord, ...]:
        began_s = time.monotonic()
        effort = TRIAL.against(self._best_s())
        measured = await measuring.measure(bundle, self._kernel.tensors, effort, last=True)
        await asyncio.to_thread(Path(bundle.path).unlink, missing_ok=True)
        records = tuple(
            TuningRecord(trace, found.run_s, found.error)
            for trace, found in zip(event.traces, measured, strict=True)
        )
        if records:
            self._store.add_batch(self._row.key, TunedBatch(self._seeds[-1], len(records), _lines(records)))
        self._searches[-1] += records
        self._row = self._counted()
        self._store.put_kernel(self._row)
        self._emit(
            TuningProgress(
                task=self._row.task,
                kernel=self._kernel.name,
                digest=self._kernel.digest,
                search=len(self._searches) - 1,
                trials=self._row.trials,
                budget=self._budget,
                failed=self._row.failed,
                best_latency_s=self._best_s(),
                plain_latency_s=self._row.plain_latency_s,
                generate_s=event.generate_s,
                build_s=event.build_s,
                measure_s=time.monotonic() - began_s,
            )
        )
        return records

    def _reply(self, decision: Decision, records: Sequence[TuningRecord]) -> SearchReply:
        measurements = tuple(Measurement(record.run_s, record.error) for record in records)
        if decision == "go_on":
            return SearchReply(measurements)
        if decision == "stop":
            # The default schedule is candidate 0: what is not better than it is not kept.
            self._finalists = ("", *self._best_traces())
        return SearchReply(measurements, stop=True, finalists=self._finalists)

    async def _choose(self, bundle: Bundle, measuring: KernelMeasuring) -> None:
        """Measure the finalists side by side and keep the best."""
        if not self._measured():
            self._kept(state="failed", error=self._last_error())
            return
        rounds = []
        count = self._settings.rule.rounds
        for number in range(count):
            found = await measuring.measure(
                bundle, self._kernel.tensors, CLOSE, backwards=number % 2 == 1, last=number == count - 1
            )
            rounds.append([TuningRecord("", one.run_s).latency_s for one in found])
        best = least_relative(rounds)
        if best is None:
            # Without the default schedule there is nothing to compare with: the best trial stands.
            self._kept(state="tuned", trace=self._finalists[1], tuned_s=self._best_s())
            return
        chosen = best[0]
        plain_s = statistics.median([row[0] for row in rounds if row[0] is not None])
        tuned_s = statistics.median([row[chosen] for row in rounds if row[chosen] is not None])  # type: ignore[type-var]
        self._row = msgspec.structs.replace(self._row, plain_latency_s=plain_s)
        self._kept(state="tuned" if chosen else "plain", trace=self._finalists[chosen], tuned_s=tuned_s)

    def _kept(
        self, *, state: str, trace: str = "", tuned_s: float | None = None, error: str = ""
    ) -> TunedKernel:
        self._row = msgspec.structs.replace(
            self._counted(), state=state, trace=trace, tuned_latency_s=tuned_s, error=error
        )
        self._store.put_kernel(self._row)
        return self._row

    def _counted(self) -> TunedKernel:
        records = [record for search in self._searches for record in search]
        return msgspec.structs.replace(
            self._row,
            trials=len(records),
            failed=sum(record.latency_s is None for record in records),
            converged_at=self._settings.rule.converged_at(
                _latencies(self._searches[0]), exhausted=self._exhausted
            ),
        )

    def _decision(self) -> Decision:
        return self._settings.rule.decide([_latencies(search) for search in self._searches], self._budget)

    def _measured(self) -> list[TuningRecord]:
        return [record for search in self._searches for record in search if record.latency_s is not None]

    def _best_s(self) -> float | None:
        return min(
            (record.latency_s for record in self._measured() if record.latency_s is not None), default=None
        )

    def _best_traces(self) -> list[str]:
        ranked = sorted(self._measured(), key=lambda record: record.latency_s or 0.0)
        return list(dict.fromkeys(record.trace for record in ranked))[: self._settings.rule.finalists]

    def _last_error(self) -> str:
        errors = [record.error for search in self._searches for record in search if record.error]
        return f"none of the trials ran; the last one said: {errors[-1]}" if errors else "no trial was made"


def _latencies(records: Sequence[TuningRecord]) -> list[float | None]:
    return [record.latency_s for record in records]


def _lines(records: Sequence[TuningRecord]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)
