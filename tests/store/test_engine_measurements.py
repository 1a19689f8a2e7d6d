"""Measurements of engines in the store, and a store of before that gets their table."""

from __future__ import annotations

import sqlite3

import msgspec
import pytest

from edgelab.store.reader import StoreReader
from edgelab.store.records import EngineMeasurementRecord
from edgelab.store.schema import SCHEMA_VERSION, migrate
from edgelab.store.writer import StoreWriter
from tests.support.records import a_measurement, a_run


def a_row(**changes) -> EngineMeasurementRecord:
    row = EngineMeasurementRecord(
        created_s=1000.0,
        task="softmax",
        task_digest="d" * 64,
        device="local",
        engine="onnxruntime",
        engine_version="1.32.0",
        versions='{"onnxruntime":"1.32.0"}',
        baseline_kind="plain",
        baseline_version="0.27.0",
        baseline_program="b" * 64,
        baseline_target='{"kind":"llvm"}',
        verdict="ok",
        reason="",
        detail="",
        quality="paired",
        latency_engine_s=2e-4,
        latency_baseline_s=1e-4,
        baseline_speedup=2.0,
        speedup_low=1.99,
        speedup_high=2.01,
        rcv_engine=0.06,
        rcv_baseline=0.07,
        rcv_speedup=0.02,
        prepare_s=1.5,
        threads=2,
        pairs=100,
        calls_per_block=5,
        settings="{}",
        series_blob="e" * 64,
    )
    return msgspec.structs.replace(row, **changes)


REFUSED = a_row(
    verdict="unsupported", reason="no such operator", quality="none", latency_engine_s=None,
    latency_baseline_s=None, baseline_speedup=None, speedup_low=None, speedup_high=None, rcv_engine=None,
    rcv_baseline=None, rcv_speedup=None, prepare_s=None, threads=None, pairs=0, calls_per_block=0,
    series_blob=None, engine="mnn", task="qr", created_s=2000.0,
)  # fmt: skip


@pytest.fixture
def database(tmp_path):
    return tmp_path / "edgelab.db"


def test_what_was_written_comes_back_newest_first(database):
    with StoreWriter(database) as writer, StoreReader(database) as reader:
        assert reader.engine_measurements() == []
        writer.add_engine_measurement(a_row())
        writer.add_engine_measurement(REFUSED)
        found = reader.engine_measurements()
        assert [msgspec.structs.replace(row, id=0) for row in found] == [REFUSED, a_row()]
        assert [row.task for row in reader.engine_measurements(task="softmax")] == ["softmax"]
        assert len(reader.engine_measurements(limit=1)) == 1


def test_each_measurement_is_a_row_of_its_own(database):
    with StoreWriter(database) as writer, StoreReader(database) as reader:
        writer.add_engine_measurement(a_row())
        writer.add_engine_measurement(a_row())
        assert len({row.id for row in reader.engine_measurements()}) == 2


def test_fields_match_the_table(database):
    migrate(database)
    columns = {row[1] for row in sqlite3.connect(database).execute("PRAGMA table_info(engine_measurements)")}
    assert columns == {field.name for field in msgspec.structs.fields(EngineMeasurementRecord)}


def test_a_store_of_before_keeps_its_rows_and_gets_the_table(database):
    with StoreWriter(database) as writer:
        writer.create_run(a_run("r1"))
        writer.add_measurement(a_measurement("r1"))
    with sqlite3.connect(database) as connection:
        # As the first version left it: its migration alone, its number, and no such table.
        connection.execute("DROP TABLE engine_measurements")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = '0003_engine_measurements'")
        connection.execute("PRAGMA user_version=2")
    with StoreReader(database) as reader:
        assert reader.engine_measurements() == []
    with StoreWriter(database) as writer, StoreReader(database) as reader:
        writer.add_engine_measurement(a_row())
        assert len(reader.engine_measurements()) == 1
        assert reader.run("r1") is not None
        assert len(reader.measurements()) == 1
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
