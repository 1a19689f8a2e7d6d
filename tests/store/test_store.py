"""The store: what a writer puts in, readers get out; processes share it; damage is said, not hidden."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from pathlib import Path

import msgspec
import pytest

from edgelab.errors import NotReadyError, UsageError
from edgelab.events import DeviceSampled, LogLine, RunFinished, RunStarted, StepFinished, StepStarted
from edgelab.results import Failure, RunResult
from edgelab.store.reader import StoreReader
from edgelab.store.records import RunRecord
from edgelab.store.schema import SCHEMA_VERSION, migrate
from edgelab.store.writer import StoreWriter
from tests.support.records import a_measurement, a_result, a_run


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "home" / "edgelab.db"


@pytest.fixture
def writer(database: Path):
    with StoreWriter(database) as writer:
        yield writer


@pytest.fixture
def reader(database: Path):
    with StoreReader(database) as reader:
        yield reader


def test_run_comes_back_as_it_was_written(writer, reader):
    run = a_run("261201-aaaaa", candidate_path="/x/y.py", simulated=True)
    writer.create_run(run)
    assert reader.run(run.id) == run
    assert reader.runs() == [run]


def test_update_keeps_what_it_does_not_name(writer, reader):
    writer.create_run(a_run("r1"))
    writer.update_run("r1", "running", pid=77, started_s=5.0)
    writer.update_run("r1", "done", finished_s=9.0, result=a_result("r1"))
    run = reader.run("r1")
    assert (run.state, run.pid, run.started_s, run.finished_s) == ("done", 77, 5.0, 9.0)
    assert run.result == a_result("r1")


def test_failure_survives_with_class_message_and_exit_code(writer, reader):
    failure = Failure("numeric", "output 0 differs", detail="at [0, 1]", advice="look", exit_code=1)
    result = a_result("r1", verdict="failed", failure=failure, speedup=None)
    writer.create_run(a_run("r1"))
    writer.update_run("r1", "done", result=result)
    assert reader.run("r1").result.failure == failure
    assert b'"class":"numeric"' in msgspec.json.encode(result)


def test_events_keep_order_and_content(writer, reader):
    bodies = [LogLine(text=f"line {index}") for index in range(50)]
    writer.append("r1", bodies)
    writer.append("r2", [LogLine(text="other")])
    assert [event.body for event in reader.events_after(0, run="r1")] == bodies
    assert [event.body for event in reader.events_tail("r1", 3)] == bodies[-3:]
    assert reader.last_event_id() == 51
    assert len(reader.events_after(45)) == 6
    assert len(reader.events_after(0, limit=7)) == 7


def test_steps_follow_from_events(writer, reader):
    writer.create_run(a_run("r1"))
    writer.append("r1", [StepStarted(step="build")])
    assert reader.steps("r1")[0].ok is None
    writer.append("r1", [StepFinished(step="build", ok=True, elapsed_s=0.5, summary="fine")])
    step = reader.steps("r1")[0]
    assert (step.name, step.ok, step.elapsed_s, step.summary) == ("build", True, 0.5, "fine")


def test_a_step_that_starts_again_is_open_again(writer, reader):
    writer.append("r1", [StepStarted(step="time"), StepFinished(step="time", ok=False, elapsed_s=1.0)])
    writer.append("r1", [StepStarted(step="time")])
    assert reader.steps("r1")[0].ok is None
    assert reader.steps("r1")[0].elapsed_s is None


def test_device_samples_become_rows_of_the_runs_device(writer, database):
    writer.create_run(a_run("r1"))
    writer.append("r1", [DeviceSampled(cpu_freq_hz=1e9)])
    rows = sqlite3.connect(database).execute("SELECT run, device, state FROM device_states").fetchall()
    assert rows[0][:2] == ("r1", "local")
    assert msgspec.json.decode(rows[0][2])["temperature_c"] is None


def test_measurement_is_kept_once_a_run(writer, reader):
    writer.add_measurement(a_measurement("r1", speedup=1.5))
    writer.add_measurement(a_measurement("r1", speedup=9.9))
    assert [row.speedup for row in reader.measurements()] == [1.5]


def test_unknown_memory_stays_unknown(writer, reader):
    writer.add_measurement(a_measurement("r1", peak_memory_bytes=None))
    assert reader.measurements()[0].peak_memory_bytes is None


def test_measurements_filter_by_task_newest_first(writer, reader):
    for index in range(4):
        writer.add_measurement(a_measurement(f"r{index}", task=f"t{index % 2}", created_s=float(index)))
    assert [row.run for row in reader.measurements(task="t1")] == ["r3", "r1"]


def test_what_was_measured_with_lost_clocks_does_not_count(writer, reader):
    for index, device in enumerate(["orin", "orin", "local", "orin"]):
        writer.add_measurement(a_measurement(f"r{index}", device=device, created_s=float(index)))
    assert writer.invalidate_measurements("orin", 1.0) == 2
    assert writer.invalidate_measurements("orin", 1.0) == 0
    assert {row.run: row.valid for row in reader.measurements()} == {
        "r0": True, "r1": False, "r2": True, "r3": False,
    }  # fmt: skip


def test_reader_of_no_store_is_empty_and_creates_nothing(database, reader):
    assert reader.runs() == []
    assert reader.events_after(0) == []
    assert reader.last_event_id() == 0
    assert reader.run("x") is None
    assert not database.parent.exists()


def test_reader_opened_before_the_store_sees_it_later(database, reader):
    assert reader.runs() == []
    with StoreWriter(database) as writer:
        writer.create_run(a_run("r1"))
        assert [run.id for run in reader.runs()] == ["r1"]


def test_find_run_takes_a_unique_beginning(writer, reader):
    for run_id, created_s in (("261201-abc", 1.0), ("261201-abd", 2.0)):
        writer.create_run(a_run(run_id, created_s=created_s))
    assert reader.find_run("261201-abc").id == "261201-abc"
    assert reader.find_run("last").id == "261201-abd"
    assert reader.find_run("abc").id == "261201-abc"
    with pytest.raises(UsageError, match="several runs"):
        reader.find_run("261201-ab")
    with pytest.raises(UsageError, match="no run 'zz'"):
        reader.find_run("zz")


def test_find_run_in_an_empty_store_says_how_to_begin(reader):
    with pytest.raises(UsageError, match="no run yet"):
        reader.find_run("last")


def test_damaged_store_is_named(database, reader):
    database.parent.mkdir(parents=True)
    database.write_bytes(b"not a database" * 400)
    with pytest.raises(NotReadyError, match=r"edgelab\.db"):
        reader.runs()
    with pytest.raises(NotReadyError, match=r"edgelab\.db"):
        StoreWriter(database)


def test_store_of_a_newer_version_is_refused_untouched(database):
    migrate(database)
    with sqlite3.connect(database) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    before = database.read_bytes()
    with pytest.raises(NotReadyError, match="newer than this EdgeLab"):
        StoreWriter(database)
    assert database.read_bytes() == before


def test_store_is_in_wal_mode(writer, database):
    assert sqlite3.connect(database).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_failed_batch_leaves_nothing_of_itself(writer, reader, database):
    writer.create_run(a_run("r1"))
    with pytest.raises(NotReadyError):
        writer.create_run(a_run("r1"))
    with pytest.raises(AttributeError):
        writer.append("r1", [LogLine(text="first"), object()])  # type: ignore[list-item]
    assert reader.events_after(0) == []


def _write_many(database: str, run: str, count: int) -> None:
    with StoreWriter(Path(database)) as writer:
        for index in range(count):
            writer.append(run, [LogLine(text=f"{run} {index}")])


@pytest.mark.integration
def test_several_processes_migrate_and_write_one_new_store(database, reader):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(database), f"r{n}", 40)) for n in range(4)]
    for process in writers:
        process.start()
    for process in writers:
        process.join(60)
    assert [process.exitcode for process in writers] == [0, 0, 0, 0]
    for number in range(4):
        texts = [event.body.text for event in reader.events_after(0, run=f"r{number}")]
        assert texts == [f"r{number} {index}" for index in range(40)]


def test_threads_of_one_writer_do_not_share_transactions(writer, reader):
    def write(name: str) -> None:
        for index in range(50):
            writer.append(name, [LogLine(text=str(index)), LogLine(text=str(index))])

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(reader.events_after(0, run=f"t{n}")) == 100 for n in range(4))


def test_run_finished_round_trips_through_the_event_table(writer, reader):
    result: RunResult = a_result("r1")
    writer.append("r1", [RunFinished(result=result)])
    assert reader.events_after(0)[0].body == RunFinished(result=result)


def test_record_fields_match_the_schema(writer, database):
    columns = {row[1] for row in sqlite3.connect(database).execute("PRAGMA table_info(runs)")}
    assert columns == {field.name for field in msgspec.structs.fields(RunRecord)}


def test_the_measurement_of_a_run_is_found(writer, reader):
    assert reader.measurement_of("r1") is None
    writer.create_run(a_run("r1"))
    writer.add_measurement(a_measurement("r1"))
    writer.add_measurement(a_measurement("r2"))
    found = reader.measurement_of("r1")
    assert (found.run, found.series_blob) == ("r1", "d" * 64)


def test_resumptions_are_counted(writer, reader):
    started = RunStarted(task="softmax", device="local", backend="llvm")
    assert reader.times_resumed("r1") == 0
    writer.append("r1", [started, LogLine(text="x")])
    assert reader.times_resumed("r1") == 0
    writer.append("r1", [started, started])
    assert reader.times_resumed("r1") == 2


def test_the_newest_state_of_a_device_is_found(writer, reader):
    assert reader.device_sample("local") is None
    writer.create_run(a_run("r1"))
    writer.append("r1", [DeviceSampled(load_1min=1.0)])
    writer.append("r1", [DeviceSampled(load_1min=2.0, temperature_c=47.0)])
    found = reader.device_sample("local")
    assert (found.run, found.state.load_1min, found.state.temperature_c) == ("r1", 2.0, 47.0)
    assert reader.device_sample("elsewhere") is None


def test_a_verdict_is_recorded_as_a_whole_or_not_at_all(writer, reader, database):
    writer.create_run(a_run("r1"))
    with sqlite3.connect(database) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
    with pytest.raises(NotReadyError, match="disk is full"):
        writer.finish_run("r1", a_result("r1"), a_measurement("r1"))
    assert reader.events_after(0) == []
    assert reader.measurements() == []
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TRIGGER full")
    writer.finish_run("r1", a_result("r1"), a_measurement("r1"))
    assert [event.body for event in reader.events_after(0)] == [RunFinished(result=a_result("r1"))]
    assert (reader.run("r1").state, reader.run("r1").result) == ("done", a_result("r1"))
    assert [row.run for row in reader.measurements()] == ["r1"]
