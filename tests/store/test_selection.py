"""Which results a report is about: filters, the newest of each, and what never counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.results import BaselineInfo, Failure
from edgelab.store.reader import StoreReader
from edgelab.store.selection import SelectedRun, Selection, newest_of_each
from edgelab.store.writer import StoreWriter
from tests.support.records import a_measurement, a_result, a_run


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "edgelab.db"


@pytest.fixture
def writer(database):
    with StoreWriter(database) as writer:
        yield writer


@pytest.fixture
def select(database):
    def call(**filters) -> list[str]:
        with StoreReader(database) as reader:
            return [one.run.id for one in reader.selected(Selection(**filters))]

    return call


def record(writer, run_id, when_s=1000.0, *, measured=True, **changes):
    place = {name: changes[name] for name in ("task", "device", "backend", "simulated") if name in changes}
    candidate = changes.pop("candidate_path", "")
    kind = changes.pop("baseline_kind", "plain")
    run = a_run(run_id, created_s=when_s, candidate_path=candidate, baseline_kind=kind, **place)
    writer.create_run(run)
    result = a_result(run_id, **changes)
    valid = result.verdict == "ok"
    row = a_measurement(run_id, created_s=when_s, valid=valid, verdict=result.verdict, **place)
    writer.finish_run(run_id, result, row if measured else None)


def test_a_store_that_is_not_there_has_no_results(select):
    assert select() == []


def test_runs_without_a_verdict_are_left_out(writer, select):
    writer.create_run(a_run("queued"))
    record(writer, "done")
    assert select() == ["done"]


def test_every_filter(writer, select):
    record(writer, "a", 1.0, task="softmax_attn_deit", device="orin", backend="cuda")
    record(writer, "b", 2.0, task="softmax_lm", device="phone", backend="llvm")
    record(writer, "c", 3.0, task="conv2d_[x]", device="rk", backend="opencl")
    assert select() == ["c", "b", "a"]
    assert select(devices=("orin", "rk")) == ["c", "a"]
    assert select(backends=("llvm",)) == ["b"]
    assert select(task="softmax_*") == ["b", "a"]
    assert select(task="SOFTMAX_*") == []
    assert select(since_s=2.0) == ["c", "b"]
    assert select(runs=("a", "c")) == ["c", "a"]
    assert select(devices=("orin",), task="conv*") == []
    assert select(devices=("' OR 1=1 --",)) == []


def newest(database, **filters) -> list[str]:
    with StoreReader(database) as reader:
        return [one.run.id for one in newest_of_each(reader.selected(Selection(**filters)))]


def test_the_newest_of_each_question_counts(writer, database):
    record(writer, "old", 1.0)
    record(writer, "new", 2.0)
    record(writer, "other-task", 1.0, task="matmul")
    record(writer, "candidate", 1.0, candidate_path="/x.py")
    record(writer, "tuned", 1.0, baseline=BaselineInfo("tuned"))
    record(writer, "simulated", 1.0, simulated=True)
    assert newest(database) == ["new", "tuned", "simulated", "other-task", "candidate"]


def test_a_failure_is_compared_with_what_the_run_was_asked_for(writer, database):
    failure = Failure("syntax_api", "no such name")
    record(
        writer, "f", verdict="failed", failure=failure, baseline=None, baseline_kind="tuned", measured=False
    )
    with StoreReader(database) as reader:
        (found,) = reader.selected(Selection())
    assert (found.baseline_kind, found.method, found.measurement_valid) == ("tuned", "import", None)


def test_an_invalid_measurement_gives_way_to_an_older_valid_one(writer, database):
    record(writer, "valid", 1000.0)
    record(writer, "invalid", 2000.0)
    assert writer.invalidate_measurements("local", 1500.0) == 1
    assert newest(database) == ["valid"]
    assert writer.invalidate_measurements("local", 0.0) == 1
    assert newest(database) == ["invalid"]
    with StoreReader(database) as reader:
        assert [one.judged for one in reader.selected(Selection())] == [False, False]


def test_a_lost_board_does_not_hide_a_measurement_but_a_wrong_result_does(writer, database):
    record(writer, "good", 1.0)
    lost = Failure("infrastructure", "the board is gone")
    record(writer, "lost", 2.0, verdict="failed", failure=lost, measured=False)
    assert newest(database) == ["good"]
    wrong = Failure("numeric", "output 0 differs")
    record(writer, "wrong", 3.0, verdict="failed", failure=wrong, measured=False)
    assert newest(database) == ["wrong"]


def test_an_unstable_result_is_judged(writer, database):
    record(writer, "steady", 1.0)
    record(writer, "unstable", 2.0, verdict="unstable", quality="none")
    assert newest(database) == ["unstable"]


_RUNS = st.builds(
    lambda number, when, path, task, valid: SelectedRun(
        a_run(f"r{number}", created_s=when, candidate_path=path, task=task, result=a_result(f"r{number}")),
        valid,
    ),
    st.integers(0, 9), st.sampled_from([1.0, 2.0, 3.0]), st.sampled_from(["", "/x.py"]),
    st.sampled_from(["a", "b"]), st.booleans(),
)  # fmt: skip


@given(st.lists(_RUNS, unique_by=lambda one: one.run.id))
def test_one_result_of_each_and_none_newer_that_was_judged(found):
    chosen = newest_of_each(found)
    assert {one.key for one in chosen} == {one.key for one in found}
    assert len({one.key for one in chosen}) == len(chosen)
    assert newest_of_each(reversed(found)) == chosen
    for one in chosen:
        for other in found:
            if other.key == one.key and other.judged:
                assert one.judged
                assert other.run.created_s <= one.run.created_s
