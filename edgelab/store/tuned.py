"""Tuned kernels in the store: a row a kernel, and the records of every batch as a blob."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from edgelab.errors import NotReadyError
from edgelab.store.blobs import BlobStore
from edgelab.store.connection import open_connection
from edgelab.store.schema import migrate

KernelState = Literal["open", "tuned", "plain", "fallback", "failed"]
"""`open`: its search is not over. `tuned`: the stored schedule is the best. `plain`: no schedule beat the default
one. `fallback`: no space of schedules could be made, so the default one stands. `failed`: nothing was measured."""


class TunedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel of a task on one profile, target and TVM version.

    `digest` is the kernel's structural hash and `target` the TVM target as JSON. `trace` is the chosen
    schedule (TVM's trace as JSON text), empty for the default one. `converged_at` is T_conv in trials, None
    where the search ended before it could be told. Latencies are of one call, None where not measured.
    """

    task: str
    profile: str
    target: str
    tvm_version: str
    digest: str
    name: str
    search_class: str
    weight: int
    state: KernelState = "open"
    error: str = ""
    trials: int = 0
    failed: int = 0
    converged_at: int | None = None
    plain_latency_s: float | None = None
    tuned_latency_s: float | None = None
    trace: str = ""
    updated_s: float = 0.0

    @property
    def key(self) -> str:
        """What the row is found by: everything that a schedule depends on."""
        parts = [self.task, self.profile, self.target, self.tvm_version, self.digest]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class TunedBatch(msgspec.Struct, frozen=True):
    """Records of one batch of trials as JSON lines, of the search that began with `seed`."""

    seed: int
    trials: int
    records: bytes


class TunedStore:
    """Reads and writes tuned kernels; every method is one transaction.

    Raises `NotReadyError` that names the store when it cannot be read or written.
    """

    def __init__(self, database: Path, blobs: Path) -> None:
        self._database = database
        self._blobs = BlobStore(blobs)
        try:
            migrate(database)
            self._connection = open_connection(database)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> TunedStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def kernels(self, task: str, profile: str) -> list[TunedKernel]:
        """Every kernel of the task that was tuned for the profile, for whatever target and TVM version."""
        rows = self._execute(
            "SELECT * FROM tuned_kernels WHERE task = ? AND profile = ? ORDER BY rowid", (task, profile)
        )
        return [self._kernel(row) for row in rows]

    def kernel(self, key: str) -> TunedKernel | None:
        """The kernel with this key."""
        rows = self._execute("SELECT * FROM tuned_kernels WHERE key = ?", (key,))
        return self._kernel(rows[0]) if rows else None

    def put_kernel(self, kernel: TunedKernel) -> None:
        """Write a kernel's row in place of the one with the same key."""
        row = msgspec.structs.asdict(kernel)
        trace = row.pop("trace")
        row |= {
            "key": kernel.key,
            "trace_blob": self._blobs.put(trace.encode()) if trace else "",
            "updated_s": time.time(),
        }
        columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        changes = ", ".join(f"{name} = excluded.{name}" for name in row)
        sql = f"INSERT INTO tuned_kernels ({columns}) VALUES ({values}) ON CONFLICT (key) DO UPDATE SET {changes}"
        self._execute(sql, row)

    def batches(self, key: str) -> list[TunedBatch]:
        """The batches of a kernel in the order in which they were measured.

        One whose blob is damaged or gone is left out: its trials are measured again.
        """
        rows = self._execute("SELECT * FROM tuned_batches WHERE key = ? ORDER BY id", (key,))
        found = []
        for row in rows:
            try:
                records = self._blobs.get(row["records_blob"])
            except (KeyError, ValueError):
                continue
            found.append(TunedBatch(row["seed"], row["trials"], records))
        return found

    def add_batch(self, key: str, batch: TunedBatch) -> None:
        """Add the records of one batch."""
        self._execute(
            "INSERT INTO tuned_batches (key, seed, trials, records_blob, created_s) VALUES (?, ?, ?, ?, ?)",
            (key, batch.seed, batch.trials, self._blobs.put(batch.records), time.time()),
        )

    def forget(self, key: str) -> None:
        """Drop a kernel's row and batches."""
        for table in ("tuned_batches", "tuned_kernels"):
            self._execute(f"DELETE FROM {table} WHERE key = ?", (key,))

    def _kernel(self, row: sqlite3.Row) -> TunedKernel:
        columns = {name: row[name] for name in row.keys() if row[name] is not None}  # noqa: SIM118 - sqlite3.Row
        blob = columns.pop("trace_blob", "")
        del columns["key"]
        try:
            trace = self._blobs.get(blob).decode() if blob else ""
        except (KeyError, ValueError) as error:
            raise NotReadyError(
                f"The schedule of kernel {row['name']} of {row['task']} cannot be read: {error}.",
                advice=f"Tune again: edgelab tune {row['task']}.",
            ) from error
        return TunedKernel(**columns, trace=trace)

    def _execute(self, sql: str, values: Sequence[Any] | dict[str, Any]) -> list[sqlite3.Row]:
        try:
            with self._connection:
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> NotReadyError:
        return NotReadyError(
            f"Cannot use the store {self._database}: {error}.",
            advice="Free disk space there or choose another folder with --home.",
        )
