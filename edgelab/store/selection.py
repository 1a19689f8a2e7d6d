"""Which of the store's results a report is about, and which of several results of one thing counts."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from edgelab.errors import FailureClass
from edgelab.store.records import RunRecord

Method = Literal["import", "candidate"]
"""`import`: the task's own import was judged; `candidate`: a program from a file."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Filters; what is empty or None selects everything.

    `task` is a glob over task names, `since_s` the earliest creation of a run (seconds since the epoch).
    """

    devices: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    task: str = ""
    since_s: float | None = None
    runs: tuple[str, ...] = ()

    def query(self) -> tuple[str, list[Any]]:
        """Return the SQL, newest first, and its values. The glob is applied by `wants_task`."""
        conditions, values = ["runs.result IS NOT NULL"], list[Any]()
        for column, wanted in (
            ("device", self.devices),
            ("backend", self.backends),
            ("id", self.runs),
        ):
            if wanted:
                conditions.append(f"runs.{column} IN ({', '.join('?' * len(wanted))})")
                values += wanted
        if self.since_s is not None:
            conditions.append("runs.created_s >= ?")
            values.append(self.since_s)
        sql = f"""
            SELECT runs.*, measurements.valid AS measurement_valid
            FROM runs LEFT JOIN measurements ON measurements.run = runs.id
            WHERE {" AND ".join(conditions)} ORDER BY runs.created_s DESC, runs.id DESC
        """
        return sql, values

    def wants_task(self, name: str) -> bool:
        """Return whether the glob matches a task's name; case counts."""
        return not self.task or fnmatch.fnmatchcase(name, self.task)


class SelectedRun(msgspec.Struct, frozen=True):
    """A run with a verdict. `measurement_valid` is None for a run without a measurement."""

    run: RunRecord
    measurement_valid: bool | None = None

    @property
    def method(self) -> Method:
        """How the judged program came about."""
        return "candidate" if self.run.candidate_path else "import"

    @property
    def baseline_kind(self) -> str:
        """What was compared with; what the run was asked for where its evaluation ended before."""
        result = self.run.result
        return result.baseline.kind if result and result.baseline else self.run.baseline_kind

    @property
    def valid(self) -> bool:
        """Whether the measurement counts: False only for a steady one that was marked invalid since."""
        result = self.run.result
        return not (result and result.verdict == "ok" and self.measurement_valid is False)

    @property
    def judged(self) -> bool:
        """Whether the verdict is about the program: not an infrastructure failure, and valid."""
        failure = self.run.result.failure if self.run.result else None
        return self.valid and (failure is None or failure.failure_class != FailureClass.INFRASTRUCTURE)

    @property
    def key(self) -> tuple[str, str, str, str, str, bool]:
        """What it is a result of: two runs with the same key were asked the same question."""
        run = self.run
        return (run.task, run.device, run.backend, self.method, self.baseline_kind, run.simulated)


def newest_of_each(found: Iterable[SelectedRun]) -> Sequence[SelectedRun]:
    """Return the newest judged result of each key, the newest at all where none was judged; newest first.

    A board that was lost after a good measurement does not hide the measurement.
    """
    ordered = sorted(found, key=lambda one: (one.judged, one.run.created_s, one.run.id), reverse=True)
    chosen: dict[tuple[str, str, str, str, str, bool], SelectedRun] = {}
    for one in ordered:
        chosen.setdefault(one.key, one)
    return sorted(chosen.values(), key=lambda one: (one.run.created_s, one.run.id), reverse=True)
