"""The run process: holds the run's lock, evaluates, records. Started detached by `launch.start`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from pathlib import Path

from edgelab.bench.baseline.apply import TunedBaseline, tuned_baseline
from edgelab.bench.device_watch import DeviceWatch
from edgelab.bench.evaluation import Evaluated, Evaluation, EvaluationRequest
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.drivers.profile import load_profile
from edgelab.errors import EdgeLabError, ExitCode, NotReadyError
from edgelab.events import Built, EventBody, RunInterrupted, RunStarted
from edgelab.home import Home
from edgelab.lab.inventory import this_machine
from edgelab.results import RunResult
from edgelab.runs import verdict
from edgelab.runs.device_work import DeviceWork
from edgelab.runs.folder import RunFolder
from edgelab.runs.journal import Attempt
from edgelab.runs.recorder import Recorder
from edgelab.runs.sink import EventSink
from edgelab.runs.spec import RunSpec
from edgelab.runs.tuning import profile_key
from edgelab.store.tuned import TunedStore
from edgelab.store.writer import StoreWriter

log = logging.getLogger("edgelab.run")


class RunProcess:
    """One run from its lock to its verdict."""

    def __init__(self, folder: RunFolder, writer: StoreWriter) -> None:
        self._folder = folder
        self._writer = writer
        self._recorder = Recorder(folder, writer)
        self._spec: RunSpec = folder.spec()
        self._task: TaskSpec = resolve(self._spec.task, Catalogue.load(catalogue_root()))
        self._evaluation: Evaluation | None = None
        self._sink = EventSink(writer, folder.run_id)

    async def run(self) -> RunResult:
        """Evaluate and record. A cancelled run records its interruption and raises CancelledError."""
        found: Evaluated | None = None
        try:
            async with self._sink:
                self._begin()
                result, found = await self._evaluate()
        except NotReadyError as error:
            # The sink could not write: the verdict goes into the space that was kept for it.
            result = self._failed(error)
        except Exception as error:  # noqa: BLE001 - the last line of defence: a run never ends without a verdict
            result = self._failed(self._internal(error))
        self._recorder.outcome(result, found)
        return result

    def _begin(self) -> None:
        resumed = bool(self._folder.journal.entries())
        now_s = time.time()
        self._folder.journal.append(Attempt(pid=os.getpid(), time_s=now_s))
        self._writer.update_run(self._folder.run_id, "running", pid=os.getpid(), started_s=now_s)
        self._sink.emit(
            RunStarted(
                task=self._task.name,
                device=self._spec.device,
                backend=self._spec.backend,
                candidate=self._spec.candidate_path,
                baseline_kind=self._spec.baseline_kind,
                pid=os.getpid(),
                resumed=resumed,
            )
        )

    async def _evaluate(self) -> tuple[RunResult, Evaluated | None]:
        entry = self._spec.entry or this_machine()
        work = DeviceWork(entry, self._folder.home, self._folder.run_id, self._emit, self._invalidate)
        try:
            found = await work.run(self._attempt)
        except EdgeLabError as error:
            return self._failed(error), None
        assert self._evaluation is not None
        name = self._folder.run_id, self._spec, self._task.name
        return verdict.judged(*name, self._evaluation, found), found

    async def _attempt(self, services: Services, watch: DeviceWatch) -> Evaluated:
        home = self._folder.home
        entry = self._spec.entry or this_machine()
        # A simulated board computes on this machine, whose peaks are not the board's.
        peaks = None if entry.simulated else load_profile(entry.profile).peaks
        request = EvaluationRequest(
            task=self._task,
            secret=home.secret(),
            candidate_text=self._spec.candidate_text,
            tuned=await self._tuned(services),
            candidate_source=self._spec.source_text,
            policy=self._spec.policy,
            peaks=peaks,
            backend=self._spec.backend,
            target=self._spec.target,
            cache=home.cache,
        )
        self._evaluation = evaluation = Evaluation(request, services, self._emit, watch)
        return await evaluation.run()

    async def _tuned(self, services: Services) -> TunedBaseline | None:
        if self._spec.baseline_kind != "tuned":
            return None
        home, device = self._folder.home, self._spec.entry or this_machine()
        host = await (await services.builder()).host()
        with TunedStore(home.database, home.blobs) as store:
            return tuned_baseline(
                store,
                self._task.name,
                profile_key(device),
                self._spec.target or host.target,
                host.tvm_version,
                device=device.name,
            )

    def _invalidate(self, since_s: float) -> int:
        return self._writer.invalidate_measurements(self._spec.device, since_s)

    def _internal(self, error: Exception) -> EdgeLabError:
        internal = EdgeLabError(
            f"Internal error in run {self._folder.run_id}: {type(error).__name__}: {error}.",
            advice=f"The traceback is in {self._folder.log}.",
        )
        internal.__cause__ = error
        return internal

    def _failed(self, error: EdgeLabError) -> RunResult:
        log.error("run %s failed", self._folder.run_id, exc_info=error)
        return verdict.failed(self._folder.run_id, self._spec, self._task.name, self._evaluation, error)

    def _emit(self, body: EventBody) -> None:
        self._sink.emit(body)
        if isinstance(body, Built) and self._evaluation is not None:
            progress = self._evaluation.progress
            program = progress.candidate if body.role == "candidate" else progress.baseline
            if program is not None:
                self._recorder.program(program)
            self._recorder.artefact(body, progress.target, progress.tvm_version)


async def _run_until_signalled(process: RunProcess) -> RunResult:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    return await process.run()


def _finish_from_journal(folder: RunFolder, writer: StoreWriter) -> bool:
    """Record a verdict that an earlier process journalled but did not get into the store."""
    outcome = folder.journal.outcome()
    if outcome is None:
        return False
    Recorder(folder, writer).store(outcome)
    return True


def main(home_root: str, run_id: str, lock: str) -> int:
    """Run the run `run_id` of the home `home_root`, whose lock is descriptor `lock`; returns the status."""
    # The lock falls with this process alone: no child may inherit the descriptor that holds it.
    os.set_inheritable(int(lock), False)
    # It logs every command that goes to a board.
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    folder = RunFolder(Home(Path(home_root)), run_id)
    try:
        with StoreWriter(folder.home.database) as writer:
            if _finish_from_journal(folder, writer):
                return ExitCode.DONE
            try:
                result = asyncio.run(_run_until_signalled(RunProcess(folder, writer)))
            except asyncio.CancelledError:
                writer.append(run_id, [RunInterrupted(reason="stopped on request")])
                writer.update_run(run_id, "interrupted", finished_s=time.time())
                return ExitCode.INTERRUPTED
            return result.exit_code
    except EdgeLabError as error:
        log.exception("run %s: %s", run_id, error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
