"""One evaluation: reference -> build -> worker -> verify -> time -> recheck -> judge."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec

from edgelab.bench.artefacts import Artefact, ArtefactCache
from edgelab.bench.baseline.apply import TunedBaseline
from edgelab.bench.device_watch import UNWATCHED, DeviceWatch
from edgelab.bench.execution_place import execution_device
from edgelab.bench.pairing import PairSeries, time_pairs
from edgelab.bench.phases import Emit, PhaseClock
from edgelab.bench.program_pair import ProgramPair
from edgelab.bench.reference import VERIFICATION_SEEDS, ReferenceBundle, prepare
from edgelab.bench.secret_seeds import SecretSeeds
from edgelab.bench.services import Services
from edgelab.bench.storage import file_digest, write_atomically
from edgelab.bench.tasks import TaskSpec
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.worker_client import WorkerClient
from edgelab.drivers.worker_messages import Limits, MemoryReading, Verification
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.events import Built, LogLine, Lowered, Role, SeedVerified, StepProgress
from edgelab.kernel import guard
from edgelab.kernel.build_protocol import BuildRequest
from edgelab.kernel.program import KernelProgram, ProgramOrigin

_SLOWEST_RATIO = 50
_SHORTEST_LIMIT_S = 5.0
_BASELINE_LIMIT_S = 300.0
_MEMORY_SHARE = 0.75
_UNKNOWN_MEMORY_BYTES = 4 << 30


class EvaluationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to evaluate: a task, a candidate's TVMScript (None: the task's own import), and how to time it.

    `secret` is the home's; the inputs that are timed and those of the check after timing come from it.
    `backend` names the adapter, `target` is its target (None: this machine's CPU). `tuned` are the schedules of
    the baseline; None compares with the plain one.
    """

    task: TaskSpec
    secret: bytes
    candidate_text: str | None = None
    tuned: TunedBaseline | None = None
    policy: TimingPolicy = TimingPolicy()
    backend: str = "llvm"
    target: dict[str, Any] | None = None
    cache: Path
    reference_limit_s: float = 300.0
    build_limit_s: float = 180.0


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation that was not a failure found; the runs layer turns it into a verdict."""

    series: PairSeries
    candidate: Artefact
    baseline: Artefact
    peak_memory_bytes: int | None
    planned_memory_bytes: int | None


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation takes to the device: the reference and both compiled programs."""

    bundle: ReferenceBundle
    candidate: Artefact
    baseline: Artefact


class Progress(msgspec.Struct):
    """How far an evaluation came, kept while it runs so that a failure can tell."""

    candidate: KernelProgram | None = None
    baseline: KernelProgram | None = None
    target: str = ""
    tvm_version: str = ""
    compiled: bool = False
    correct: bool = False


class Evaluation:
    """Runs the steps of one request over warm services, saying every step through `emit`.

    `watch` sees the device between the sessions of timing and fails the evaluation when it has changed.
    """

    def __init__(
        self, request: EvaluationRequest, services: Services, emit: Emit, watch: DeviceWatch = UNWATCHED
    ) -> None:
        self._watch = watch
        self._request = request
        self._services = services
        self._emit = emit
        self._seeds = SecretSeeds.derive(request.secret, request.task.digest)
        self.clock = PhaseClock(emit)
        self.progress = Progress()

    async def run(self) -> Evaluated:
        """Run all steps. Raises `EvaluationFailure` or `TaskError`; cancellation cleans up."""
        return await self.measure(await self.build())

    async def build(self) -> Prepared:
        """Get the reference and compile both programs. Evaluations may do this at the same time."""
        bundle = await self._reference()
        candidate, baseline = await self._build(bundle)
        return Prepared(bundle=bundle, candidate=candidate, baseline=baseline)

    async def measure(self, built: Prepared) -> Evaluated:
        """Verify, time and check again on the device. Only one evaluation may do this at a time."""
        bundle, candidate, baseline = built.bundle, built.candidate, built.baseline
        pair = await self._start_worker(candidate, baseline)
        try:
            await self._verify(pair, bundle, baseline)
            series = await self._time(pair, bundle)
            await self._recheck(pair, bundle)
            memory = await pair.worker.memory("candidate")
            await pair.unload_candidate()
        except EvaluationFailure as failure:
            await pair.discard()
            blamed = pair.blamed(failure)
            self.progress.correct &= blamed.failure_class is FailureClass.INFRASTRUCTURE
            raise blamed from failure
        return Evaluated(
            series=series,
            candidate=candidate,
            baseline=baseline,
            peak_memory_bytes=_above_baseline(memory),
            planned_memory_bytes=candidate.reply.planned_memory_bytes,
        )

    async def _reference(self) -> ReferenceBundle:
        task = self._request.task
        if self._request.candidate_text is not None:
            # Before anything else: a refused text costs milliseconds, not a reference.
            guard.check(self._request.candidate_text)
        with self.clock.step("reference") as step:
            bundle = await prepare(
                task,
                self._request.cache,
                seeds=(*VERIFICATION_SEEDS, self._seeds.timing, self._seeds.recheck),
                time_limit_s=self._request.reference_limit_s,
                on_log=lambda text: self._emit(LogLine(source="reference", text=text)),
            )
            imported = KernelProgram(
                text=bundle.program_path.read_text(), task=task.name, origin=ProgramOrigin.IMPORT
            )
            self.progress.baseline = imported
            self.progress.candidate = imported
            if self._request.candidate_text is not None:
                self.progress.candidate = KernelProgram(text=self._request.candidate_text, task=task.name)
            tolerance = bundle.meta.tolerance
            step.summary = f"tolerance rtol {tolerance.rtol:.1e}, atol {tolerance.atol:.1e}"
        return bundle

    async def _build(self, bundle: ReferenceBundle) -> tuple[Artefact, Artefact]:
        assert self.progress.candidate is not None
        assert self.progress.baseline is not None
        with self.clock.step("build") as step:
            service = await self._services.builder()
            host = await service.host()
            self.progress.target = msgspec.json.encode(self._request.target or host.target).decode()
            self.progress.tvm_version = host.tvm_version
            # The candidate first: it is the one that may not build.
            candidate = await self._build_one("candidate", self.progress.candidate, bundle)
            self.progress.compiled = True
            if self._same_program():
                baseline = candidate
            else:
                baseline = await self._build_one("baseline", self.progress.baseline, bundle)
            step.summary = f"kernels: {len(candidate.reply.kernels)}, for {_named(candidate.reply.target)}"
        return candidate, baseline

    def _same_program(self) -> bool:
        """Whether candidate and baseline are one: the task's own import, compared with its plain lowering."""
        return self._request.tuned is None and self.progress.candidate == self.progress.baseline

    async def _build_one(self, role: Role, program: KernelProgram, bundle: ReferenceBundle) -> Artefact:
        service = await self._services.builder()
        cache = ArtefactCache(self._request.cache / "artefacts")
        text_path = cache.request_folder() / f"{program.digest}.py"
        write_atomically(text_path, program.text.encode())
        tuned = self._request.tuned if role == "baseline" else None
        request = BuildRequest(
            schedules_path=None if tuned is None else str(tuned.write(cache.request_folder())),
            program_path=str(text_path),
            params_path=str(bundle.params_path),
            target=self._request.target,
            out_folder=str(cache.request_folder()),
            role="baseline" if program.origin is ProgramOrigin.IMPORT else "candidate",
            time_limit_s=self._request.build_limit_s,
            expected_inputs=bundle.meta.inputs,
            expected_outputs=bundle.meta.outputs,
            output_structure=bundle.meta.output_structure,
        )
        params = await asyncio.to_thread(file_digest, bundle.params_path)
        artefact = await cache.build(service, program, request, params, await service.host())
        reply = artefact.reply
        if not artefact.cached:
            cost_s = reply.phase_s.get("lower", 0.0)
            self._emit(
                Lowered(
                    role=role,
                    adapter=self._request.backend,
                    program=program.digest,
                    kernels=reply.kernels,
                    cost_s=cost_s,
                )
            )
        self._emit(
            Built(
                role=role,
                program=program.digest,
                artefact=reply.artefact_sha256,
                size_bytes=reply.size_bytes,
                cost_s=sum(reply.phase_s.values()),
                cached=artefact.cached,
                planned_memory_bytes=reply.planned_memory_bytes,
            )
        )
        return artefact

    async def _start_worker(self, candidate: Artefact, baseline: Artefact) -> ProgramPair:
        with self.clock.step("worker") as step:
            worker = await self._services.worker()
            hello = await worker.hello()
            memory_bytes = await self._memory_limit(worker)
            limits = Limits(memory_bytes=memory_bytes, time_s=_BASELINE_LIMIT_S, threads=hello.cpu_count or 1)
            transport = self._services.transport
            artefacts: dict[Role, str] = {
                "candidate": await transport.put(candidate.path),
                "baseline": await transport.put(baseline.path),
            }
            device = await execution_device(self._request.backend, transport, self._request.cache)
            pair = ProgramPair(worker, self._request.task.name, artefacts, limits, device)
            try:
                await pair.load("candidate")
            except EvaluationFailure as failure:
                await pair.discard()
                raise pair.blamed(failure) from failure
            step.summary = f"TVM {hello.tvm} runtime, threads: {limits.threads}"
        return pair

    @staticmethod
    async def _memory_limit(worker: WorkerClient) -> int:
        available = (await worker.sample()).memory_available_bytes
        return int(_MEMORY_SHARE * available) if available else _UNKNOWN_MEMORY_BYTES

    async def _verify(self, pair: ProgramPair, bundle: ReferenceBundle, baseline: Artefact) -> None:
        with self.clock.step("verify") as step:
            limit_s = await self._verify_baseline(pair, bundle, baseline)
            for number, seed in enumerate(VERIFICATION_SEEDS):
                await self._check(pair, "candidate", bundle, seed, limit_s)
                self._emit(StepProgress(step="verify", done=number + 1, total=len(VERIFICATION_SEEDS)))
            self.progress.correct = True
            step.summary = f"{len(VERIFICATION_SEEDS)} seeds agree with PyTorch"

    async def _verify_baseline(self, pair: ProgramPair, bundle: ReferenceBundle, baseline: Artefact) -> float:
        """Check the baseline, once over these services, and return the candidate's time limit in seconds."""
        if self._same_program():
            return _BASELINE_LIMIT_S
        key = (baseline.reply.artefact_sha256, bundle.folder.name)
        if key not in self._services.baseline_check_s:
            await pair.load("baseline")
            begin_s = time.monotonic()
            for seed in VERIFICATION_SEEDS:
                await self._check(pair, "baseline", bundle, seed, _BASELINE_LIMIT_S)
            self._services.baseline_check_s[key] = (time.monotonic() - begin_s) / len(VERIFICATION_SEEDS)
        return max(_SHORTEST_LIMIT_S, _SLOWEST_RATIO * self._services.baseline_check_s[key])

    async def _check(
        self, pair: ProgramPair, role: Role, bundle: ReferenceBundle, seed: int, time_s: float
    ) -> None:
        """Compare one program's outputs for one seed; raises `EvaluationFailure` when they differ."""
        transport = self._services.transport
        # A secret seed in an event or a message would be known to the next candidate's author.
        announced = seed if seed in VERIFICATION_SEEDS else None
        inputs_name = f"seed {seed}" if announced is not None else "the secret inputs"
        found = await pair.worker.verify(
            role,
            inputs=await transport.put(bundle.inputs_path(seed)),
            expected=await transport.put(bundle.expected_path(seed)),
            tolerance=bundle.meta.tolerance,
            time_s=time_s,
        )
        self._emit(
            SeedVerified(
                role=role, seed=announced, ok=found.ok, max_abs_error=found.max_abs_error,
                tolerated=found.worst.tolerated if found.worst else None, message=found.message,
            )
        )  # fmt: skip
        if found.ok:
            return
        if role == "baseline":
            kind = "plain" if self._request.tuned is None else "tuned"
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"The {kind} baseline of {self._request.task.name} is wrong for {inputs_name}: {found.message}",
                detail=_difference(found),
                advice="TVM miscompiles this task or its tolerance is too tight; it cannot be judged.",
            )
        raise EvaluationFailure(
            FailureClass.NUMERIC,
            f"Wrong result of {self._request.task.name} for {inputs_name}: {found.message}",
            detail=_difference(found),
        )

    async def _time(self, pair: ProgramPair, bundle: ReferenceBundle) -> PairSeries:
        with self.clock.step("time") as step:
            inputs = await self._services.transport.put(bundle.inputs_path(self._seeds.timing))

            async def open_session(number: int) -> None:
                await pair.load_for_timing(number, inputs)

            policy = self._request.policy
            series = await time_pairs(pair.worker, open_session, policy, self._emit, self._watch)
            found = series.statistics
            step.summary = f"{found.pairs} pairs, quality {found.quality}"
        return series

    async def _recheck(self, pair: ProgramPair, bundle: ReferenceBundle) -> None:
        """A program that drifts after the checked calls is caught on inputs that it has not seen."""
        with self.clock.step("recheck") as step:
            await self._check(pair, "candidate", bundle, self._seeds.recheck, _BASELINE_LIMIT_S)
            step.summary = "outputs still right after timing"


def _named(target: dict[str, Any]) -> str:
    """Return a target by the part that says most: an architecture, a processor, a kind."""
    return str(target.get("arch") or target.get("mcpu") or target.get("device") or target.get("kind"))


def _above_baseline(memory: MemoryReading) -> int | None:
    if memory.device_bytes is not None:
        return memory.device_bytes
    if memory.peak_rss_bytes is None or memory.baseline_rss_bytes is None:
        return None
    return max(0, memory.peak_rss_bytes - memory.baseline_rss_bytes)


def _difference(found: Verification) -> str:
    lines = []
    if found.index is not None:
        lines.append(
            f"first difference: output {found.output_index} at {list(found.index)}: "
            f"got {found.got}, expected {found.expected}"
        )
    if found.worst is not None:
        worst = found.worst
        lines.append(
            f"worst element: {list(worst.index)}: got {worst.got}, expected {worst.expected}, "
            f"off by {worst.abs_error}, tolerated {worst.tolerated:.6g}"
        )
    if found.total:
        lines.append(f"{found.mismatched} of {found.total} elements differ")
    return "\n".join(lines)
