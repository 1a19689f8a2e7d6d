"""The store's writer: one a run process; events are append-only, rows are upserted."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from edgelab.errors import NotReadyError
from edgelab.events import DeviceSampled, EventBody, RunFinished, StepFinished, StepStarted
from edgelab.results import RunResult
from edgelab.store.connection import open_connection
from edgelab.store.records import EngineMeasurementRecord, MeasurementRecord, RunRecord, RunState
from edgelab.store.schema import migrate

_Statement = tuple[str, Sequence[Any] | Mapping[str, Any]]


class StoreWriter:
    """Writes runs, steps, programs, measurements, device states and events.

    Every public method is one transaction: it is in the store as a whole or not at all. A store that
    cannot be written (disk full, file damaged) raises `NotReadyError` that names the file and the cause.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        # One connection serves the run's threads: a transaction of one must not take in rows of another.
        self._turn = threading.Lock()
        try:
            migrate(database)
            self._connection = open_connection(database)
        except (sqlite3.Error, OSError) as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the connection; the WAL is checkpointed by SQLite when the last one closes."""
        self._connection.close()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unwritable(self, error: Exception) -> NotReadyError:
        return NotReadyError(
            f"Cannot write the store {self._database}: {error}.",
            advice="Free disk space there or choose another folder with --home.",
        )

    def _execute_all(self, statements: Iterable[_Statement]) -> int:
        """Run the statements in one transaction; returns how many rows the last one changed."""
        try:
            with self._turn, self._connection:
                cursor = self._connection.cursor()
                for sql, values in statements:
                    cursor.execute(sql, values)
                return cursor.rowcount
        except sqlite3.Error as error:
            raise self._unwritable(error) from error

    def create_run(self, run: RunRecord) -> None:
        """Insert `run`. Raises `NotReadyError` when its id is taken."""
        self._execute_all([_insert("runs", _row(run))])

    def update_run(
        self,
        run_id: str,
        state: RunState,
        *,
        pid: int | None = None,
        started_s: float | None = None,
        finished_s: float | None = None,
        result: RunResult | None = None,
    ) -> None:
        """Set the state of a run and what came with it; fields left None keep their value."""
        self._execute_all([_run_update(run_id, state, pid, started_s, finished_s, result)])

    def finish_run(self, run_id: str, result: RunResult, measurement: MeasurementRecord | None) -> None:
        """Record a run's verdict: its event, its measurement if it has one, and its state."""
        now_s = time.time()
        statements = [*_event(run_id, RunFinished(result=result), now_s)]
        if measurement is not None:
            statements.append(_measurement_insert(measurement))
        statements.append(_run_update(run_id, "done", None, None, now_s, result))
        self._execute_all(statements)

    def append(self, run_id: str, bodies: Iterable[EventBody], *, time_s: float | None = None) -> None:
        """Append events in one transaction, and the step and device rows that follow from them."""
        now_s = time.time() if time_s is None else time_s
        self._execute_all(statement for body in bodies for statement in _event(run_id, body, now_s))

    def add_program(self, digest: str, task: str, origin: str, text_blob: str, source_blob: str = "") -> None:
        """Record a program: its TVMScript, and its target source if that was edited, are blobs.

        Known programs are left as they are.
        """
        row = {
            "digest": digest,
            "task": task,
            "origin": origin,
            "text_blob": text_blob,
            "source_blob": source_blob,
            "created_s": time.time(),
        }
        self._execute_all([_insert("programs", row, "OR IGNORE")])

    def add_artefact(
        self, digest: str, program: str, target: str, tvm_version: str, size_bytes: int, build_s: float
    ) -> None:
        """Record a compiled program. Known artefacts are left as they are."""
        row = {"digest": digest, "program": program, "target": target, "tvm_version": tvm_version}
        row |= {"size_bytes": size_bytes, "build_s": build_s, "created_s": time.time()}
        self._execute_all([_insert("artefacts", row, "OR IGNORE")])

    def add_measurement(self, measurement: MeasurementRecord) -> None:
        """Insert the measurement of a run; a run has at most one, so a repeat after a crash is ignored."""
        self._execute_all([_measurement_insert(measurement)])

    def add_engine_measurement(self, measurement: EngineMeasurementRecord) -> None:
        """Insert what was measured of an engine; every measurement is a row of its own."""
        row = _row(measurement)
        del row["id"]
        self._execute_all([_insert("engine_measurements", row)])

    def invalidate_measurements(self, device: str, since_s: float) -> int:
        """Mark the valid measurements of `device` made at or after `since_s` (epoch) invalid; returns how many.

        What was measured while its clocks were not as locked does not count.
        """
        sql = "UPDATE measurements SET valid = 0 WHERE device = ? AND created_s >= ? AND valid = 1"
        return self._execute_all([(sql, (device, since_s))])


def _insert(table: str, row: Mapping[str, Any], conflict: str = "") -> _Statement:
    columns = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    return f"INSERT {conflict} INTO {table} ({columns}) VALUES ({values})", row


def _measurement_insert(measurement: MeasurementRecord) -> _Statement:
    row = _row(measurement)
    del row["id"]
    return _insert("measurements", row, "OR IGNORE")


def _run_update(
    run_id: str,
    state: RunState,
    pid: int | None,
    started_s: float | None,
    finished_s: float | None,
    result: RunResult | None,
) -> _Statement:
    encoded = msgspec.json.encode(result).decode() if result is not None else None
    changes = {
        "state": state,
        "pid": pid,
        "started_s": started_s,
        "finished_s": finished_s,
        "result": encoded,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    assignments = ", ".join(f"{name} = :{name}" for name in changes)
    return f"UPDATE runs SET {assignments} WHERE id = :id", {**changes, "id": run_id}


def _row(record: msgspec.Struct) -> dict[str, Any]:
    """Return the columns of a record; a nested object becomes its JSON text."""
    row = msgspec.structs.asdict(record)
    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, msgspec.Struct) else value
        for name, value in row.items()
    }


_EVENT_SQL = "INSERT INTO events (run, time_s, kind, body) VALUES (?, ?, ?, ?)"
_STEP_START_SQL = """
INSERT INTO steps (run, name, started_s) VALUES (?, ?, ?)
ON CONFLICT (run, name) DO UPDATE SET started_s = excluded.started_s, elapsed_s = NULL, ok = NULL, summary = NULL
"""
_STEP_END_SQL = "UPDATE steps SET elapsed_s = ?, ok = ?, summary = ? WHERE run = ? AND name = ?"
_DEVICE_SQL = """
INSERT INTO device_states (run, device, time_s, state)
SELECT id, device, ?, ? FROM runs WHERE id = ?
"""


def _event(run_id: str, body: EventBody, now_s: float) -> Iterable[_Statement]:
    kind = type(body).__struct_config__.tag
    encoded = msgspec.json.encode(body).decode()
    yield _EVENT_SQL, (run_id, now_s, kind, encoded)
    if isinstance(body, StepStarted):
        yield _STEP_START_SQL, (run_id, body.step, now_s)
    elif isinstance(body, StepFinished):
        yield _STEP_END_SQL, (body.elapsed_s, int(body.ok), body.summary, run_id, body.step)
    elif isinstance(body, DeviceSampled):
        yield _DEVICE_SQL, (now_s, encoded, run_id)
