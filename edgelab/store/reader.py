"""The store's reader: a read-only connection that screens and `runs` commands poll."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from edgelab.errors import NotReadyError, UsageError
from edgelab.events import AnyEvent, DeviceSampled, StoredEvent
from edgelab.results import RunResult
from edgelab.store.connection import open_connection
from edgelab.store.records import (
    EngineMeasurementRecord,
    MeasurementRecord,
    RunRecord,
    StepRecord,
    StoredSample,
)
from edgelab.store.selection import SelectedRun, Selection

_Record = TypeVar("_Record", bound=msgspec.Struct)
_decode_body = msgspec.json.Decoder(AnyEvent).decode


class StoreReader:
    """Queries over a store that other processes write.

    A store that does not exist yet reads as empty. A store that cannot be read (damaged, no permission)
    raises `NotReadyError` that names the file and the cause. One reader belongs to one thread at a time.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the connection; the next query opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> StoreReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _query(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[sqlite3.Row]:
        try:
            if self._connection is None:
                if not self._database.exists():
                    return []
                self._connection = open_connection(self._database, read_only=True)
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            # Seen while another process is still applying the first migration.
            if "no such table" in str(error):
                return []
            raise NotReadyError(
                f"Cannot read the store {self._database}: {error}.",
                advice="Check the file's permissions, or choose another folder with --home.",
            ) from error

    def runs(self, limit: int = 200) -> list[RunRecord]:
        """Return the newest runs, newest first."""
        rows = self._query("SELECT * FROM runs ORDER BY created_s DESC, id DESC LIMIT ?", (limit,))
        return [_run(row) for row in rows]

    def run(self, run_id: str) -> RunRecord | None:
        """Return the run with exactly this id."""
        rows = self._query("SELECT * FROM runs WHERE id = ?", (run_id,))
        return _run(rows[0]) if rows else None

    def find_run(self, prefix: str) -> RunRecord:
        """Return the one run whose id, or the part of it behind the date, begins with `prefix`.

        `last` names the newest.

        Raises `UsageError` when there is none or more than one.
        """
        if prefix == "last":
            newest = self.runs(limit=1)
            if not newest:
                raise UsageError("There is no run yet.", advice="Start one with `edgelab run TASK`.")
            return newest[0]
        sql = """
            SELECT * FROM runs WHERE substr(id, 1, :length) = :prefix OR substr(id, 8, :length) = :prefix
            ORDER BY created_s DESC LIMIT 5
        """
        rows = self._query(sql, {"length": len(prefix), "prefix": prefix})
        if len(rows) == 1:
            return _run(rows[0])
        if not rows:
            near = ", ".join(run.id for run in self.runs(limit=3)) or "none yet"
            raise UsageError(f"There is no run {prefix!r}.", advice=f"Newest runs: {near}.")
        names = ", ".join(row["id"] for row in rows)
        raise UsageError(f"{prefix!r} names several runs: {names}.", advice="Name more of the id, or `last`.")

    def selected(self, selection: Selection) -> list[SelectedRun]:
        """Return every run with a verdict that the filters let through, newest first."""
        return [
            SelectedRun(
                _run(row), None if row["measurement_valid"] is None else bool(row["measurement_valid"])
            )
            for row in self._query(*selection.query())
            if selection.wants_task(row["task"])
        ]

    def last_event_id(self) -> int:
        """Return the highest event id, 0 in an empty store."""
        rows = self._query("SELECT max(id) AS newest FROM events")
        return int(rows[0]["newest"] or 0) if rows else 0

    def events_after(self, event_id: int, *, run: str | None = None, limit: int = 2000) -> list[StoredEvent]:
        """Return up to `limit` events with a higher id, oldest first."""
        if run is None:
            rows = self._query("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?", (event_id, limit))
        else:
            sql = "SELECT * FROM events WHERE run = ? AND id > ? ORDER BY id LIMIT ?"
            rows = self._query(sql, (run, event_id, limit))
        return [_event(row) for row in rows]

    def events_tail(self, run: str, limit: int) -> list[StoredEvent]:
        """Return the newest `limit` events of a run, oldest first."""
        rows = self._query("SELECT * FROM events WHERE run = ? ORDER BY id DESC LIMIT ?", (run, limit))
        return [_event(row) for row in reversed(rows)]

    def steps(self, run: str) -> list[StepRecord]:
        """Return the steps of a run in the order they began."""
        rows = self._query("SELECT * FROM steps WHERE run = ? ORDER BY started_s, rowid", (run,))
        return [_record(StepRecord, row) for row in rows]

    def measurements(self, limit: int = 500, task: str | None = None) -> list[MeasurementRecord]:
        """Return the newest measurements, newest first; only those of `task` when given."""
        where, values = ("WHERE task = ?", [task]) if task else ("", [])
        sql = f"SELECT * FROM measurements {where} ORDER BY created_s DESC, id DESC LIMIT ?"
        return [_record(MeasurementRecord, row) for row in self._query(sql, [*values, limit])]

    def measurement_of(self, run: str) -> MeasurementRecord | None:
        """Return the measurement of a run, None when it has none."""
        rows = self._query("SELECT * FROM measurements WHERE run = ? ORDER BY id DESC LIMIT 1", (run,))
        return _record(MeasurementRecord, rows[0]) if rows else None

    def engine_measurements(self, limit: int = 500, task: str | None = None) -> list[EngineMeasurementRecord]:
        """Return the newest measurements of engines, newest first; only those of `task` when given."""
        where, values = ("WHERE task = ?", [task]) if task else ("", [])
        sql = f"SELECT * FROM engine_measurements {where} ORDER BY created_s DESC, id DESC LIMIT ?"
        return [_record(EngineMeasurementRecord, row) for row in self._query(sql, [*values, limit])]

    def times_resumed(self, run: str) -> int:
        """Return how often a run was resumed: the starts after its first."""
        sql = "SELECT count(*) AS starts FROM events WHERE run = ? AND kind = 'run_started'"
        rows = self._query(sql, (run,))
        return max(int(rows[0]["starts"]) - 1, 0) if rows else 0

    def device_sample(self, device: str) -> StoredSample | None:
        """Return the newest state that a run read off a device, None when there is none."""
        sql = "SELECT * FROM device_states WHERE device = ? ORDER BY time_s DESC LIMIT 1"
        rows = self._query(sql, (device,))
        if not rows:
            return None
        state = msgspec.json.decode(rows[0]["state"], type=DeviceSampled)
        return StoredSample(run=rows[0]["run"], time_s=rows[0]["time_s"], state=state)

    def program(self, digest: str) -> dict[str, Any] | None:
        """Return the row of a program (digest, task, origin, text_blob, created_s)."""
        rows = self._query("SELECT * FROM programs WHERE digest = ?", (digest,))
        return dict(rows[0]) if rows else None


def _event(row: sqlite3.Row) -> StoredEvent:
    return StoredEvent(id=row["id"], run=row["run"], time_s=row["time_s"], body=_decode_body(row["body"]))


def _run(row: sqlite3.Row) -> RunRecord:
    names = RunRecord.__struct_fields__
    columns = {name: row[name] for name in names if row[name] is not None}
    if "result" in columns:
        columns["result"] = msgspec.json.decode(columns["result"], type=RunResult)
    columns["simulated"] = bool(row["simulated"])
    return RunRecord(**columns)


def _record(kind: type[_Record], row: sqlite3.Row) -> _Record:
    columns = {name: row[name] for name in row.keys() if row[name] is not None}  # noqa: SIM118 - sqlite3.Row
    # SQLite has no booleans: `strict=False` reads 0 and 1 as such. Columns left out are None.
    for field in msgspec.structs.fields(kind):
        if field.name not in columns and field.default is msgspec.NODEFAULT:
            columns[field.name] = None
    return msgspec.convert(columns, type=kind, strict=False)
