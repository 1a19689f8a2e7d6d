"""One evaluation: reference -> build -> worker -> verify -> time -> recheck -> judge."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from edgelab.bench import verification_cases as cases
from edgelab.bench.artefacts import Artefact
from edgelab.bench.baseline.apply import TunedBaseline
from edgelab.bench.device_watch import UNWATCHED, DeviceWatch
from edgelab.bench.execution_place import execution_device
from edgelab.bench.memory_limit import memory_limit_bytes
from edgelab.bench.pairing import PairSeries, time_pairs
from edgelab.bench.phases import Emit, PhaseClock
from edgelab.bench.program_build import BuildOrder, build_program
from edgelab.bench.program_pair import ProgramPair, TimedInputs
from edgelab.bench.reference import VERIFICATION_SEEDS, ReferenceBundle, prepare
from edgelab.bench.reference_process import Twin
from edgelab.bench.roofline_floor import Floor, check_floor, floor_of
from edgelab.bench.secret_seeds import SecretSeeds
from edgelab.bench.services import Services
from edgelab.bench.tasks import TaskSpec
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.bench.verification_cases import VerificationCase
from edgelab.drivers.profile import Peaks
from edgelab.drivers.worker_messages import Limits, MemoryReading, Verification
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.events import LogLine, Role, SeedVerified, StepProgress
from edgelab.kernel import guard
from edgelab.kernel.program import KernelProgram, ProgramLevel, ProgramOrigin

_SLOWEST_RATIO = 50
_SHORTEST_LIMIT_S = 5.0
_BASELINE_LIMIT_S = 300.0


class EvaluationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to evaluate: a task, a candidate's TVMScript (None: the task's own import), and how to time it.

    `candidate_source` is an edit of the target source that this program is translated to (level 2).
    `secret` is the home's; the inputs that are timed, those of the check after timing and the hidden cases come
    from it. `backend` names the adapter, `target` is its target (None: this machine's CPU). `peaks` are the
    device's, None where they are not known: then no latency is too short to be true.
    `tuned` are the schedules of the baseline; None compares with the plain one.
    """

    task: TaskSpec
    secret: bytes
    candidate_text: str | None = None
    tuned: TunedBaseline | None = None
    candidate_source: str | None = None
    policy: TimingPolicy = TimingPolicy()
    peaks: Peaks | None = None
    backend: str = "llvm"
    target: dict[str, Any] | None = None
    cache: Path
    reference_limit_s: float = 300.0
    build_limit_s: float = 180.0


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation that was not a failure found; the runs layer turns it into a verdict.

    `floor` is the least latency that the device allows, None where it was not checked.
    """

    series: PairSeries
    candidate: Artefact
    baseline: Artefact
    peak_memory_bytes: int | None
    planned_memory_bytes: int | None
    floor: Floor | None = None


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
        floor = floor_of(bundle.meta.least_work, self._request.peaks)
        pair = await self._start_worker(candidate, baseline)
        try:
            await self._verify(pair, bundle, baseline)
            series = await self._time(pair, bundle, floor)
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
            floor=floor,
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
                seeds=(*VERIFICATION_SEEDS, *self._seeds.timing[:2], self._seeds.recheck),
                twin=Twin(self._seeds.timing[2], *self._seeds.timing[:2]),
                hidden=self._seeds.hidden,
                time_limit_s=self._request.reference_limit_s,
                on_log=lambda text: self._emit(LogLine(source="reference", text=text)),
            )
            imported = KernelProgram(
                text=bundle.program_path.read_text(), task=task.name, origin=ProgramOrigin.IMPORT
            )
            self.progress.baseline = imported
            self.progress.candidate = self._candidate_of(imported)
            tolerance = bundle.meta.tolerance
            step.summary = f"tolerance rtol {tolerance.rtol:.1e}, atol {tolerance.atol:.1e}"
        return bundle

    def _candidate_of(self, imported: KernelProgram) -> KernelProgram:
        text, source = self._request.candidate_text, self._request.candidate_source
        if text is None and source is None:
            return imported
        return KernelProgram(
            text=imported.text if text is None else text,
            task=imported.task,
            level=ProgramLevel.GRAPH if source is None else ProgramLevel.SOURCE,
            origin=imported.origin if text is None else ProgramOrigin.CANDIDATE,
            source=source,
        )

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
            same = self.progress.candidate.digest == self.progress.baseline.digest
            if same and self._request.tuned is None:
                baseline = candidate
            else:
                baseline = await self._build_one("baseline", self.progress.baseline, bundle)
            step.summary = f"kernels: {len(candidate.reply.kernels)}, for {_named(candidate.reply.target)}"
        return candidate, baseline

    def _same_program(self) -> bool:
        """Whether candidate and baseline are one: the task's own import, compared with its plain lowering."""
        return self._request.tuned is None and self.progress.candidate == self.progress.baseline

    async def _build_one(self, role: Role, program: KernelProgram, bundle: ReferenceBundle) -> Artefact:
        asked = self._request
        order = BuildOrder(
            role=role,
            program=program,
            backend=asked.backend,
            target=asked.target,
            tuned=asked.tuned if role == "baseline" else None,
            time_limit_s=asked.build_limit_s,
        )
        service = await self._services.builder()
        return await build_program(service, order, bundle, asked.cache / "artefacts", self._emit)

    async def _start_worker(self, candidate: Artefact, baseline: Artefact) -> ProgramPair:
        with self.clock.step("worker") as step:
            worker = await self._services.worker()
            hello = await worker.hello()
            memory_bytes = await memory_limit_bytes(worker)
            limits = Limits(memory_bytes=memory_bytes, time_s=_BASELINE_LIMIT_S, threads=hello.cpu_count or 1)
            transport = self._services.transport
            artefacts: dict[Role, str] = {
                "candidate": await transport.put(candidate.path),
                "baseline": await transport.put(baseline.path),
            }
            asked = self._request
            device = await execution_device(asked.backend, transport, asked.cache, asked.target)
            pair = ProgramPair(worker, self._request.task.name, artefacts, limits, device)
            try:
                await pair.load("candidate")
            except EvaluationFailure as failure:
                await pair.discard()
                raise pair.blamed(failure) from failure
            step.summary = f"TVM {hello.tvm} runtime, threads: {limits.threads}"
        return pair

    async def _verify(self, pair: ProgramPair, bundle: ReferenceBundle, baseline: Artefact) -> None:
        with self.clock.step("verify") as step:
            limit_s = await self._verify_baseline(pair, bundle, baseline)
            hidden = list(cases.hidden_cases(bundle, self._seeds.hidden))
            total = len(VERIFICATION_SEEDS) + len(hidden)
            for number, seed in enumerate(VERIFICATION_SEEDS):
                await self._check(pair, "candidate", cases.seed_case(bundle, seed), limit_s)
                self._emit(StepProgress(step="verify", done=number + 1, total=total))
            key = (baseline.reply.artefact_sha256, bundle.folder.name)
            missed = self._services.missed_by_baseline.setdefault(key, set())
            for number, case in enumerate(hidden):
                if case.name not in missed and not await self._holds(pair, case, limit_s):
                    missed.add(case.name)
                self._emit(
                    StepProgress(step="verify", done=len(VERIFICATION_SEEDS) + number + 1, total=total)
                )
            asked = [case for case in hidden if case.name not in missed]
            off = [case.name for case in hidden if case.name in missed]
            cases.check_enough(self._request.task.name, len(asked), off)
            self.progress.correct = True
            step.summary = (
                f"{len(VERIFICATION_SEEDS)} seeds and {len(asked)} hidden inputs agree with PyTorch"
            )

    async def _holds(self, pair: ProgramPair, case: VerificationCase, limit_s: float) -> bool:
        """Check a hidden case; False if the plain lowering gets it wrong, too, so that nobody is to blame.

        Raises `EvaluationFailure` when the candidate alone is wrong.
        """
        found = await self._compare(pair, "candidate", case, limit_s)
        if found.ok:
            return True
        if self.progress.candidate != self.progress.baseline:
            await pair.load("baseline")
            if (await self._compare(pair, "baseline", case, _BASELINE_LIMIT_S)).ok:
                raise cases.wrong(self._request.task.name, case, found)
        self._emit(
            LogLine(level="warning", text=f"The plain lowering is off for {case.name}: nobody is asked that.")
        )
        return False

    async def _verify_baseline(self, pair: ProgramPair, bundle: ReferenceBundle, baseline: Artefact) -> float:
        """Check the baseline, once over these services, and return the candidate's time limit in seconds."""
        if self._same_program():
            return _BASELINE_LIMIT_S
        key = (baseline.reply.artefact_sha256, bundle.folder.name)
        if key not in self._services.baseline_check_s:
            await pair.load("baseline")
            begin_s = time.monotonic()
            for seed in VERIFICATION_SEEDS:
                await self._check(pair, "baseline", cases.seed_case(bundle, seed), _BASELINE_LIMIT_S)
            self._services.baseline_check_s[key] = (time.monotonic() - begin_s) / len(VERIFICATION_SEEDS)
        return max(_SHORTEST_LIMIT_S, _SLOWEST_RATIO * self._services.baseline_check_s[key])

    async def _check(self, pair: ProgramPair, role: Role, case: VerificationCase, time_s: float) -> None:
        """Compare one program's outputs in one case; raises `EvaluationFailure` when they differ."""
        found = await self._compare(pair, role, case, time_s)
        if found.ok:
            return
        if role == "baseline":
            kind = "plain" if self._request.tuned is None else "tuned"
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"The {kind} baseline of {self._request.task.name} is wrong for {case.name}: {found.message}",
                detail=cases.difference(found),
                advice="TVM miscompiles this task or its tolerance is too tight; it cannot be judged.",
            )
        raise cases.wrong(self._request.task.name, case, found)

    async def _compare(
        self, pair: ProgramPair, role: Role, case: VerificationCase, time_s: float
    ) -> Verification:
        transport = self._services.transport
        found = await pair.worker.verify(
            role,
            inputs=await transport.put(case.inputs),
            expected=await transport.put(case.expected),
            tolerance=case.tolerance,
            time_s=time_s,
            fresh=case.fresh,
        )
        self._emit(
            SeedVerified(
                role=role, seed=case.seed, structure=case.structure, ok=found.ok, max_abs_error=found.max_abs_error,
                tolerated=found.worst.tolerated if found.worst else None, message=found.message,
            )
        )  # fmt: skip
        return found

    async def _time(self, pair: ProgramPair, bundle: ReferenceBundle, floor: Floor | None) -> PairSeries:
        with self.clock.step("time") as step:
            put = self._services.transport.put
            timed = TimedInputs(
                inputs=tuple([await put(bundle.inputs_path(seed)) for seed in self._seeds.timing]),
                expected=tuple([await put(bundle.expected_path(seed)) for seed in self._seeds.timing]),
                tolerance=bundle.meta.tolerance,
            )

            async def open_session(number: int) -> None:
                await pair.load_for_timing(number, timed)

            policy = self._request.policy
            series = await time_pairs(pair.worker, open_session, policy, self._emit, self._watch)
            found = series.statistics
            check_floor(self._request.task.name, found.latency_candidate_s, floor)
            checked = "" if floor else ", not checked against the roofline (peaks unknown)"
            step.summary = f"{found.pairs} pairs, quality {found.quality}{checked}"
        return series

    async def _recheck(self, pair: ProgramPair, bundle: ReferenceBundle) -> None:
        """A program that drifts after the checked calls is caught on inputs that it has not seen."""
        with self.clock.step("recheck") as step:
            await self._check(
                pair, "candidate", cases.seed_case(bundle, self._seeds.recheck), _BASELINE_LIMIT_S
            )
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
