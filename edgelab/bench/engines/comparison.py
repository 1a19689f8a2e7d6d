"""Engines against a baseline on one task: prepare -> verify -> time in pairs -> check again."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from edgelab.bench.engines.alternation import Alternator
from edgelab.bench.engines.engine import Engine, EngineFailure
from edgelab.bench.engines.engine_process import EngineProcess
from edgelab.bench.engines.messages import Preparation, Prepared
from edgelab.bench.engines.result import EngineBaseline, EngineResult, SideLatency, SideVariation
from edgelab.bench.engines.sides import CheckedSide, EngineSide, ProgramSide
from edgelab.bench.evaluation import Evaluation, EvaluationRequest
from edgelab.bench.evaluation import Prepared as Built
from edgelab.bench.memory_limit import memory_limit_bytes
from edgelab.bench.pairing import PairSeries, time_pairs
from edgelab.bench.phases import Emit
from edgelab.bench.reference import VERIFICATION_SEEDS, ReferenceBundle
from edgelab.bench.secret_seeds import SecretSeeds
from edgelab.bench.services import Services
from edgelab.bench.storage import write_atomically
from edgelab.drivers.worker_client import WorkerClient
from edgelab.drivers.worker_messages import Limits
from edgelab.errors import EdgeLabError, EvaluationFailure, FailureClass, UsageError
from edgelab.events import LogLine

PLAIN = "plain"
"""The baseline that is TVM's default pipeline over the imported program."""

_PREPARE_LIMIT_S = 600.0
_LOAD_LIMIT_S = 300.0


class Measured(msgspec.Struct, frozen=True):
    """A verdict and the pairs that it rests on, None where it has none."""

    result: EngineResult
    series: PairSeries | None = None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare with: `baseline` None is the plain one. `threads` None are as many as there are cores."""

    baseline: Engine | None = None
    threads: int | None = None
    prepare_limit_s: float = _PREPARE_LIMIT_S


class TaskComparison:
    """Compares engines on the task of one request, over warm services, saying every step through `emit`."""

    def __init__(
        self, request: EvaluationRequest, comparison: Comparison, services: Services, emit: Emit
    ) -> None:
        self._request = request
        self._comparison = comparison
        self._services = services
        self._emit = emit
        self._seeds = SecretSeeds.derive(request.secret, request.task.digest)
        self._built: Built | None = None
        self._baseline = EngineBaseline(kind=comparison.baseline.name if comparison.baseline else PLAIN)
        self._baseline_is_right = False

    async def measure(self, engines: Sequence[Engine]) -> AsyncIterator[Measured]:
        """Measure one engine after the other. What one of them cannot do is its result and stops no other.

        Raises UsageError for an engine that is to be compared with itself.
        """
        if self._comparison.baseline in engines:
            raise UsageError(f"{self._baseline.kind} cannot be compared with itself.")
        for engine in engines:
            availability = engine.available()
            blank = EngineResult(
                task=self._request.task.name, engine=engine.name, version=availability.version,
                versions=availability.versions, verdict="unavailable", reason=availability.reason,
                advice=availability.advice, baseline=self._baseline,
            )  # fmt: skip
            yield Measured(blank) if availability.version is None else await self._judge(engine, blank)

    async def _judge(self, engine: Engine, blank: EngineResult) -> Measured:
        try:
            return await self._measure(engine, blank)
        except EngineFailure as failure:
            verdict, detail = failure.problem, failure.detail
            reason, advice = failure.message, failure.advice
        except EvaluationFailure as failure:
            verdict, detail = "failed", failure.detail
            reason, advice = failure.message, failure.advice
            if failure.failure_class is FailureClass.HACK:
                reason = "The clocks of the baseline and of the engine disagree."
        except EdgeLabError as error:
            verdict, detail, reason, advice = "failed", "", error.message, error.advice
        self._say(engine, f"{verdict}: {reason}", warning=True)
        return Measured(
            msgspec.structs.replace(
                blank, verdict=verdict, reason=reason, detail=detail, advice=advice, baseline=self._baseline
            )
        )

    async def _measure(self, engine: Engine, blank: EngineResult) -> Measured:
        bundle = (await self._build()).bundle
        worker = await self._services.worker()
        threads = self._comparison.threads or (await worker.hello()).cpu_count or 1
        async with contextlib.AsyncExitStack() as stack:
            side, prepared = await self._engine_side(engine, bundle, worker, threads, stack)
            baseline = await self._baseline_side(bundle, worker, threads, stack)
            series = await self._time(side, baseline, bundle, worker)
            await side.check(bundle, self._seeds.recheck, "the secret inputs, after timing")
        found = series.statistics
        self._say(engine, f"{found.pairs} pairs, quality {found.quality}")
        result = msgspec.structs.replace(
            blank, verdict="unstable" if found.quality == "none" else "ok", baseline=self._baseline,
            threads=threads, latency_s=SideLatency(found.latency_baseline_s, found.latency_candidate_s),
            baseline_speedup=found.speedup, baseline_speedup_ci95=found.speedup_ci95, quality=found.quality,
            rcv=SideVariation(found.rcv_baseline, found.rcv_candidate, found.rcv_speedup), pairs=found.pairs,
            calls_per_block=series.calls_per_block, prepare_s=prepared.elapsed_s, settings=prepared.settings,
        )  # fmt: skip
        return Measured(result, series)

    async def _build(self) -> Built:
        """Get the reference and compile the plain program, once for all engines."""
        if self._built is None:
            self._built = built = await Evaluation(self._request, self._services, self._emit).build()
            if self._comparison.baseline is None:
                host = await (await self._services.builder()).host()
                target = msgspec.json.encode(host.target).decode()
                self._baseline = EngineBaseline(PLAIN, host.tvm_version, built.baseline.program, target)
        return self._built

    async def _engine_side(
        self,
        engine: Engine,
        bundle: ReferenceBundle,
        worker: WorkerClient,
        threads: int,
        stack: contextlib.AsyncExitStack,
    ) -> tuple[EngineSide, Prepared]:
        """Start an engine and let it prepare; it is right on the announced seeds when this returns."""
        process = EngineProcess(engine, threads=threads, cache=self._request.cache)
        await stack.enter_async_context(process)
        request = Preparation(
            task=self._request.task.name,
            path=str(self._request.task.path),
            source_path=str(self._source_path(bundle)),
            digest=bundle.meta.digest,
            bundle=str(bundle.folder),
            example_inputs=str(bundle.inputs_path(VERIFICATION_SEEDS[0])),
            cache=str(self._request.cache),
            threads=threads,
            memory_bytes=await memory_limit_bytes(worker),
        )
        prepared = await process.prepare(request, self._comparison.prepare_limit_s)
        self._say(engine, f"prepared in {prepared.elapsed_s:.1f} s, threads: {threads}")
        side = EngineSide(process)
        await _verify(side, bundle)
        self._say(engine, f"{len(VERIFICATION_SEEDS)} seeds agree with the reference")
        return side, prepared

    def _source_path(self, bundle: ReferenceBundle) -> Path:
        """Write the task's text with its constants where the engine's child can read it."""
        path = self._request.cache / "engines" / "sources" / f"{bundle.meta.digest}.py"
        write_atomically(path, self._request.task.source().encode())
        return path

    async def _baseline_side(
        self, bundle: ReferenceBundle, worker: WorkerClient, threads: int, stack: contextlib.AsyncExitStack
    ) -> CheckedSide:
        engine = self._comparison.baseline
        if engine is not None:
            availability = engine.available()
            if availability.version is None:
                reason = f"The baseline {engine.name} cannot be used: {availability.reason}."
                raise EngineFailure("failed", reason, advice=availability.advice)
            self._baseline = EngineBaseline(kind=engine.name, version=availability.version)
            try:
                return (await self._engine_side(engine, bundle, worker, threads, stack))[0]
            except EngineFailure as failure:
                message = f"No baseline: {failure.message}"
                raise EngineFailure("failed", message, detail=failure.detail) from failure
        built = await self._build()
        limits = Limits(memory_bytes=await memory_limit_bytes(worker), time_s=_LOAD_LIMIT_S, threads=threads)
        side = ProgramSide(PLAIN, worker, self._services.transport, built.baseline, limits)
        await side.load()
        if not self._baseline_is_right:
            await _verify(side, bundle)
            self._baseline_is_right = True
        return side

    async def _time(
        self, side: EngineSide, baseline: CheckedSide, bundle: ReferenceBundle, worker: WorkerClient
    ) -> PairSeries:
        """Time both in pairs. The baseline takes the candidate's place: the speed-up is then its own."""
        sides = (baseline, side)
        inputs = bundle.inputs_path(self._seeds.timing[0])

        async def open_session(number: int) -> None:
            for each in sides if number % 2 == 0 else reversed(sides):
                await each.renew(inputs)

        alternator = Alternator({"candidate": baseline, "baseline": side}, worker.sample)
        return await time_pairs(alternator, open_session, self._request.policy, self._emit)

    def _say(self, engine: Engine, text: str, *, warning: bool = False) -> None:
        self._emit(LogLine(source=engine.name, text=text, level="warning" if warning else "info"))


async def _verify(side: CheckedSide, bundle: ReferenceBundle) -> None:
    for seed in VERIFICATION_SEEDS:
        await side.check(bundle, seed, f"seed {seed}")
