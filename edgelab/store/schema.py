"""Schema of the SQLite store as ordered migrations; a migration that has landed is never edited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgelab.store.connection import connect, exclusive

if TYPE_CHECKING:
    from sqlite_utils import Migrations

SCHEMA_VERSION = 5
"""Number of migrations; kept in `PRAGMA user_version` so that opening a current store stays cheap."""


def _migrations() -> Migrations:
    from sqlite_utils import Migrations

    migrations = Migrations("edgelab")

    @migrations(name="0001_first")
    def first(db: Any) -> None:
        _create_runs(db)
        _create_programs(db)
        _create_measurements(db)

    @migrations(name="0002_program_source")
    def program_source(db: Any) -> None:
        db["programs"].add_column("source_blob", str, not_null_default="")

    @migrations(name="0003_engine_measurements")
    def engine_measurements(db: Any) -> None:
        _create_engine_measurements(db)

    @migrations(name="0004_tuning")
    def tuning(db: Any) -> None:
        _create_tuning(db)

    @migrations(name="0005_run_kind")
    def run_kind(db: Any) -> None:
        db["runs"].add_column("kind", str, not_null_default="run")

    return migrations


def _create_runs(db: Any) -> None:
    db["runs"].create(
        {
            "id": str,
            "task": str,
            "device": str,
            "backend": str,
            "simulated": int,
            "candidate": str,
            "candidate_path": str,
            "baseline_kind": str,
            "state": str,
            "pid": int,
            "created_s": float,
            "started_s": float,
            "finished_s": float,
            "result": str,
        },
        pk="id",
    )
    db["runs"].create_index(["created_s"])
    db["steps"].create(
        {"run": str, "name": str, "started_s": float, "elapsed_s": float, "ok": int, "summary": str},
        pk=("run", "name"),
        foreign_keys=[("run", "runs", "id")],
    )
    db["events"].create({"id": int, "run": str, "time_s": float, "kind": str, "body": str}, pk="id")
    db["events"].create_index(["run", "id"])
    db["device_states"].create({"id": int, "run": str, "device": str, "time_s": float, "state": str}, pk="id")
    db["device_states"].create_index(["device", "time_s"])


def _create_programs(db: Any) -> None:
    db["programs"].create(
        {"digest": str, "task": str, "origin": str, "text_blob": str, "created_s": float}, pk="digest"
    )
    db["artefacts"].create(
        {
            "digest": str,
            "program": str,
            "target": str,
            "tvm_version": str,
            "size_bytes": int,
            "build_s": float,
            "created_s": float,
        },
        pk="digest",
    )
    db["artefacts"].create_index(["program"])


def _create_measurements(db: Any) -> None:
    text = ["run", "task", "device", "backend", "candidate_program", "baseline_program", "baseline_kind"]
    real = ["latency_candidate_s", "latency_baseline_s", "speedup", "speedup_low", "speedup_high"]
    real += ["rcv_candidate", "rcv_baseline", "rcv_speedup"]
    columns: dict[str, Any] = {"id": int, **dict.fromkeys(text, str), "simulated": int, "created_s": float}
    columns |= dict.fromkeys(real, float)
    columns |= {"quality": str, "verdict": str, "pairs": int, "calls_per_block": int}
    columns |= {"peak_memory_bytes": int, "planned_memory_bytes": int, "series_blob": str, "valid": int}
    db["measurements"].create(columns, pk="id")
    db["measurements"].create_index(["task", "device"])
    db["measurements"].create_index(["run"], unique=True)


def _create_engine_measurements(db: Any) -> None:
    text = ["task", "task_digest", "device", "engine", "engine_version", "versions", "baseline_kind"]
    text += [
        "baseline_version",
        "baseline_program",
        "baseline_target",
        "verdict",
        "reason",
        "detail",
        "quality",
    ]
    real = ["latency_engine_s", "latency_baseline_s", "baseline_speedup", "speedup_low", "speedup_high"]
    real += ["rcv_engine", "rcv_baseline", "rcv_speedup", "prepare_s"]
    columns: dict[str, Any] = {"id": int, "created_s": float, **dict.fromkeys(text, str)}
    columns |= dict.fromkeys(real, float)
    columns |= {"threads": int, "pairs": int, "calls_per_block": int, "settings": str, "series_blob": str}
    db["engine_measurements"].create(columns, pk="id")
    db["engine_measurements"].create_index(["task", "engine"])


def _create_tuning(db: Any) -> None:
    text = ["key", "task", "profile", "target", "tvm_version", "digest"]
    columns: dict[str, Any] = {**dict.fromkeys(text, str), "name": str, "search_class": str, "weight": int}
    columns |= {"state": str, "error": str, "trials": int, "failed": int, "converged_at": int}
    columns |= {"plain_latency_s": float, "tuned_latency_s": float, "trace_blob": str, "updated_s": float}
    db["tuned_kernels"].create(columns, pk="key")
    db["tuned_kernels"].create_index(["task", "profile"])
    db["tuned_batches"].create(
        {"id": int, "key": str, "seed": int, "trials": int, "records_blob": str, "created_s": float}, pk="id"
    )
    db["tuned_batches"].create_index(["key", "seed", "id"])


def migrate(database: Path) -> None:
    """Bring `database` (created when absent) to the current schema; safe for several processes at once.

    Raises `errors.NotReadyError` when the store was written by a newer EdgeLab.
    """
    from edgelab.errors import NotReadyError

    if database.exists():
        with connect(database) as probe:
            version: int = probe.execute("PRAGMA user_version").fetchone()[0]
        if version == SCHEMA_VERSION:
            return
        if version > SCHEMA_VERSION:
            raise NotReadyError(
                f"The store {database} has schema {version}, newer than this EdgeLab's {SCHEMA_VERSION}.",
                advice="Update EdgeLab or choose another folder with --home.",
            )
    database.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(database.with_suffix(".migrate")):
        import sqlite_utils

        with connect(database) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            _migrations().apply(sqlite_utils.Database(connection))
            connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            connection.commit()
