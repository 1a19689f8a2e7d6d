"""Runs candidates through whole evaluations on this machine, one after the other over the same services."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType

import msgspec

from edgelab.bench.evaluation import Evaluated, Evaluation, EvaluationRequest
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.local import LocalTransport
from edgelab.drivers.profile import Peaks
from edgelab.errors import EvaluationFailure
from edgelab.events import EventBody, LogLine

SECRET = b"a secret of the tests"
QUICK = TimingPolicy(min_pairs=20, min_sessions=3, max_time_s=2.0, warm_up_s=0.0)


class Evaluations:
    """Evaluates on this machine; a context that ends what it started."""

    def __init__(self, folder: Path) -> None:
        self._cache = folder / "cache"
        self._transport = LocalTransport(folder / "device")
        self._runner = asyncio.Runner()
        self._services = Services(self._transport, self._cache, self._keep)
        self.events: list[EventBody] = []

    def __enter__(self) -> Evaluations:
        self._runner.run(self._services.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._services.__aexit__(kind, error, trace))
        self._runner.close()

    def run(
        self,
        task: str | Path,
        text: str | None,
        *,
        policy: TimingPolicy = QUICK,
        peaks: Peaks | None = None,
        secret: bytes = SECRET,
    ) -> Evaluated:
        """Evaluate a candidate's text (None: the task's own import). Raises what the evaluation raises."""
        self.events.clear()
        request = EvaluationRequest(
            task=task_of(task),
            secret=secret,
            candidate_text=text,
            policy=policy,
            peaks=peaks,
            cache=self._cache,
        )
        return self._runner.run(Evaluation(request, self._services, self._keep).run())

    def failure(self, task: str | Path, text: str, **how: TimingPolicy | Peaks) -> EvaluationFailure:
        """Evaluate a candidate that has to fail, and return how it did."""
        try:
            found = self.run(task, text, **how)  # pyright: ignore[reportArgumentType]
        except EvaluationFailure as failure:
            return failure
        raise AssertionError(f"the cheat got through: speed-up {found.series.statistics.speedup}")

    def told(self) -> str:
        """All that the last evaluation said, as text."""
        return msgspec.json.encode(self.events).decode()

    def warnings(self) -> list[str]:
        """The warnings of the last evaluation."""
        return [
            event.text for event in self.events if isinstance(event, LogLine) and event.level == "warning"
        ]

    def _keep(self, event: EventBody) -> None:
        self.events.append(event)


def task_of(task: str | Path) -> TaskSpec:
    """Return a task of the suite by name, or that of a file."""
    return resolve(str(task), Catalogue.load(catalogue_root()))
