from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.events import (
    DeviceAwaited,
    LogLine,
    PairsTimed,
    RunInterrupted,
    RunStarted,
    StepFinished,
    StepProgress,
    StepStarted,
    StoredEvent,
)
from edgelab.screens.run_view import EMPTY, LOG_LIMIT, fold, with_result, with_series, with_steps
from edgelab.screens.series import SERIES_LIMIT
from edgelab.store.records import StepRecord
from tests.support import ui_data
from tests.support.ui_data import Script


def pairs(total: int, count: int = 4, **changes: object) -> PairsTimed:
    values: dict[str, object] = {
        "candidate_s": (2.0e-3,) * count,
        "baseline_s": (3.0e-3,) * count,
        "pairs": total,
        "max_pairs": 400,
        "calls_per_block": 1,
        "latency_candidate_s": 2.0e-3,
        "latency_baseline_s": 3.0e-3,
        "speedup": 1.5,
        "speedup_ci95": (1.4, 1.6),
        "rcv_candidate": 0.01,
        "rcv_baseline": 0.01,
        "rcv_speedup": 0.01,
        "quality": "none",
    }
    return PairsTimed(**(values | changes))  # type: ignore[arg-type]


@given(st.integers(0, 60), st.integers(0, 60))
def test_batches_do_not_matter_and_repeats_are_ignored(first: int, second: int) -> None:
    events = ui_data.finished().events
    cut, again = sorted((first % len(events), second % len(events)))
    whole = fold(EMPTY, events)
    # The second batch repeats what lies between the cuts.
    assert fold(fold(EMPTY, events[:again]), events[cut:]) == whole


def test_a_finished_run_has_all_steps_and_its_verdict() -> None:
    view = fold(EMPTY, ui_data.finished().events)
    assert [step.state for step in view.steps] == ["ok"] * 6
    assert view.step is None
    assert view.result is not None
    assert view.result.verdict == "ok"
    assert view.timing is not None
    assert view.candidate.seen == view.baseline.seen == view.speedup.seen == view.timing.pairs == 200
    assert view.log[-1].text.startswith("verdict ok: 1.3")


def test_a_failed_step_is_failed_and_the_rest_waits() -> None:
    view = fold(EMPTY, ui_data.failed().events)
    assert [step.state for step in view.steps] == ["ok", "ok", "ok", "failed", "waiting", "waiting"]


def test_progress_belongs_to_the_running_step() -> None:
    view = fold(EMPTY, ui_data.running().events)
    assert view.step is not None
    assert (view.step.name, view.step.done, view.step.total) == ("time", 120, 400)


def test_the_log_is_bounded_and_numbered_without_gaps() -> None:
    script = Script("r", start_s=0.0)
    for index in range(LOG_LIMIT + 500):
        script.say(LogLine(text=str(index)))
    view = fold(fold(EMPTY, script.events[:4000]), script.events[4000:])
    assert len(view.log) == LOG_LIMIT
    assert [entry.number for entry in view.log] == list(range(501, LOG_LIMIT + 501))
    assert view.log[-1].text == str(LOG_LIMIT + 499)
    assert view.log_skipped == 0


def test_when_behind_the_newest_and_the_loud_lines_stay_and_statistics_are_whole() -> None:
    script = Script("r", start_s=0.0)
    for index in range(1000):
        script.say(LogLine(text=str(index), level="error" if index == 3 else "info"))
        script.say(pairs((index + 1) * 4))
    view = fold(EMPTY, script.events, max_log_lines=10)
    assert [entry.text for entry in view.log] == ["3", *(str(index) for index in range(991, 1000))]
    assert view.log_skipped == 990
    assert view.candidate.seen == 4000
    assert view.timing is not None
    assert view.timing.pairs == 4000


def test_series_are_bounded_over_a_million_pairs() -> None:
    view = EMPTY
    for index in range(100):
        view = fold(view, [StoredEvent(index + 1, "r", 0.0, pairs((index + 1) * 10_000, 10_000))])
    assert view.candidate.seen == 1_000_000
    assert len(view.candidate.values) <= SERIES_LIMIT


def test_timing_that_begins_anew_forgets_the_older_pairs() -> None:
    first = fold(EMPTY, [StoredEvent(1, "r", 0.0, pairs(40, 40))])
    resumed = RunStarted(task="t", device="d", backend="llvm", resumed=True)
    view = fold(first, [StoredEvent(2, "r", 1.0, resumed), StoredEvent(3, "r", 1.0, pairs(4))])
    assert view.candidate.seen == 4
    assert view.started_s == 1.0


def test_a_resumed_run_begins_anew() -> None:
    run = ui_data.interrupted()
    view = fold(EMPTY, run.events)
    assert view.interrupted is not None
    resumed = RunStarted(task="t", device="d", backend="llvm", resumed=True)
    view = fold(view, [StoredEvent(view.last_event_id + 1, run.record.id, ui_data.NOW_S, resumed)])
    assert view.interrupted is None
    assert view.started_s == ui_data.NOW_S
    assert {step.state for step in view.steps} == {"waiting"}
    assert (view.timing, view.candidate.seen, view.speedup.values) == (None, 0, ())
    # Rows of the attempt before are left out.
    assert {step.state for step in with_steps(view, run.steps).steps} == {"waiting"}


def test_a_step_stopped_on_request_did_not_fail() -> None:
    stop = StepFinished(step="time", ok=False, elapsed_s=2.0, stopped=True)
    view = fold(EMPTY, [StoredEvent(1, "r", 0.0, StepStarted(step="time")), StoredEvent(2, "r", 2.0, stop)])
    assert view.steps[4].state == "stopped"


@pytest.mark.parametrize(
    ("ok", "summary", "state", "otherwise"),
    [
        (None, None, "stopped", "running"),
        (False, "", "stopped", "failed"),
        (False, "seed 11 differs", "failed", "failed"),
        (True, "", "ok", "ok"),
    ],
)
def test_a_row_of_an_interrupted_run_without_a_reason_was_stopped(
    ok: bool | None, summary: str | None, state: str, otherwise: str
) -> None:
    row = StepRecord(run="r", name="verify", started_s=1.0, ok=ok, summary=summary)
    interrupted = fold(EMPTY, [StoredEvent(1, "r", 2.0, RunInterrupted(reason="stopped on request"))])
    assert with_steps(interrupted, [row]).steps[3].state == state
    assert with_steps(EMPTY, [row]).steps[3].state == otherwise


WAITING = DeviceAwaited(device="local", holder="run a1 of ada@bench")


def test_a_run_waits_for_the_device_until_its_first_step() -> None:
    begun = RunStarted(task="t", device="local", backend="llvm")
    view = fold(EMPTY, [StoredEvent(1, "r", 0.0, begun), StoredEvent(2, "r", 0.1, WAITING)])
    assert view.waits_for == "run a1 of ada@bench"
    assert fold(view, [StoredEvent(3, "r", 5.0, StepStarted(step="reference"))]).waits_for == ""


def test_steps_before_the_tail_come_from_the_store() -> None:
    run = ui_data.running()
    view = with_steps(fold(EMPTY, run.events[-3:]), run.steps)
    assert [step.state for step in view.steps] == ["ok", "ok", "ok", "ok", "running", "waiting"]
    assert view.steps[0].summary == "cached, 3 seeds"


def test_the_records_result_fills_in_only_where_there_is_none() -> None:
    other = ui_data.result("x", verdict="unstable")
    assert with_result(EMPTY, other).result == other
    assert with_result(EMPTY, None) == EMPTY
    view = fold(EMPTY, ui_data.finished().events)
    assert with_result(view, other) is view


@pytest.mark.parametrize(
    "body", [StepStarted(step="time"), StepProgress(step="time", done=1), LogLine(text="x")]
)
def test_an_event_moves_the_last_id(body: object) -> None:
    view = fold(EMPTY, [StoredEvent(7, "r", 5.0, body)])  # type: ignore[arg-type]
    assert (view.last_event_id, view.last_event_s) == (7, 5.0)


def test_a_step_that_ends_without_a_beginning_is_shown() -> None:
    view = fold(
        EMPTY, [StoredEvent(1, "r", 0.0, StepFinished(step="build", ok=False, elapsed_s=1.0, summary="no"))]
    )
    assert view.steps[1].state == "failed"


def test_a_run_that_was_resumed_counts_how_often() -> None:
    again = RunStarted(task="t", device="d", backend="llvm", resumed=True)
    first = RunStarted(task="t", device="d", backend="llvm")
    view = fold(EMPTY, [StoredEvent(1, "r", 0.0, first), StoredEvent(2, "r", 1.0, again)])
    assert view.resumed == 1
    assert fold(view, [StoredEvent(3, "r", 2.0, again)]).resumed == 2


def test_a_series_whose_beginning_was_not_seen_is_not_whole_until_it_is_given() -> None:
    view = fold(EMPTY, [StoredEvent(1, "r", 0.0, pairs(40, 4))])
    assert not view.whole_series
    view = with_series(view, [2.0] * 40, [3.0] * 40)
    assert view.whole_series
    assert set(view.speedup.values) == {1.5}
    assert (view.candidate.seen, view.baseline.seen) == (40, 40)
