"""The recorder: puts what a run produces into the store, verdict first into the journal."""

from __future__ import annotations

import msgspec

from edgelab.bench.evaluation import Evaluated
from edgelab.errors import NotReadyError
from edgelab.events import Built, LogLine
from edgelab.kernel.program import KernelProgram
from edgelab.results import RunResult
from edgelab.runs.folder import RunFolder
from edgelab.runs.journal import Outcome
from edgelab.runs.verdict import measurement_of
from edgelab.store.blobs import BlobStore
from edgelab.store.writer import StoreWriter


class Recorder:
    """Writes programs, artefacts and the outcome of the run in `folder`."""

    def __init__(self, folder: RunFolder, writer: StoreWriter) -> None:
        self._folder = folder
        self._writer = writer
        self._blobs = BlobStore(folder.home.blobs)

    def program(self, program: KernelProgram) -> None:
        """Keep a program's text, and the source if that was edited, as blobs, and its row."""
        text = self._blobs.put(program.text.encode())
        source = self._blobs.put(program.source.encode()) if program.source is not None else ""
        self._writer.add_program(program.digest, program.task, program.origin, text, source)

    def artefact(self, built: Built, target: str, tvm_version: str) -> None:
        """Keep the row of a compiled program."""
        self._writer.add_artefact(
            built.artefact, built.program, target, tvm_version, built.size_bytes, built.cost_s
        )

    def outcome(self, result: RunResult, found: Evaluated | None) -> None:
        """Record the verdict and its measurement: journal, then store.

        On a full disk the run's reserve is given back and the writing tried once more.
        """
        try:
            self._record(result, found)
        except NotReadyError as error:
            self._folder.release_reserve()
            self._record(result, found)
            text = f"The disk was full; the verdict was written into space kept for it. {error.message}"
            self._writer.append(self._folder.run_id, [LogLine(level="warning", text=text)])
        self._folder.release_reserve()

    def _record(self, result: RunResult, found: Evaluated | None) -> None:
        measurement = None
        if found is not None:
            raw = {"candidate_s": found.series.candidate_s, "baseline_s": found.series.baseline_s}
            measurement = measurement_of(result, found, self._blobs.put(msgspec.json.encode(raw)))
        outcome = Outcome(result=result, measurement=measurement)
        if self._folder.journal.outcome() is None:
            self._folder.journal.append(outcome)
        self.store(outcome)

    def store(self, outcome: Outcome) -> None:
        """Bring the store up to an outcome that the journal has: all of it in one transaction."""
        self._writer.finish_run(self._folder.run_id, outcome.result, outcome.measurement)
