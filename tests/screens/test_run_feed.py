from __future__ import annotations

from pathlib import Path

from edgelab.events import LogLine, RunFinished, StepStarted, StoredEvent
from edgelab.screens import run_feed
from edgelab.screens.run_feed import RunFeed
from tests.support import ui_data
from tests.support.ui import FixedSources


def test_opening_a_run_shows_all_of_it_and_a_poll_what_is_new(tmp_path: Path) -> None:
    run = ui_data.running()
    sources = FixedSources(tmp_path, [run])
    feed = RunFeed(sources, run.record.id)
    opened = feed.poll()
    assert opened.state == "running"
    assert opened.view.timing is not None
    last = run.events[-1]
    run.events.append(StoredEvent(last.id + 1, last.run, last.time_s, LogLine(text="more")))
    assert feed.poll().view.log[-1].text == "more"
    assert feed.poll() == feed.poll()


def test_a_run_opened_late_has_steps_and_verdict_from_its_rows(tmp_path: Path) -> None:
    run = ui_data.finished()
    sources = FixedSources(tmp_path, [run])
    full = list(run.events)
    steps = run.steps

    # Only the last two log lines are in the tail; verdict and steps lie before.
    class Tail(ui_data.Run):
        @property
        def steps(self):  # type: ignore[no-untyped-def]
            return steps

    last = full[-1]
    tail = [StoredEvent(last.id + 1, last.run, last.time_s, LogLine(text="late"))]
    sources.store.all = {run.record.id: Tail(run.record, tail)}
    snapshot = RunFeed(sources, run.record.id).poll()
    assert snapshot.view.result == run.record.result
    assert [step.state for step in snapshot.view.steps] == ["ok"] * 6


def test_a_killed_run_is_lost(tmp_path: Path) -> None:
    run = ui_data.lost()
    assert RunFeed(FixedSources(tmp_path, [run]), run.record.id).poll().state == "lost"


def test_the_end_is_seen_at_once_though_the_record_is_read_once_a_second(tmp_path: Path) -> None:
    run = ui_data.running()
    sources = FixedSources(tmp_path, [run])
    feed = RunFeed(sources, run.record.id)
    assert feed.poll().state == "running"
    last = run.events[-1]
    run.events.append(
        StoredEvent(last.id + 1, last.run, last.time_s, RunFinished(result=ui_data.result(last.run)))
    )
    run.record, run.state = ui_data.record(last.run, "done", result=ui_data.result(last.run)), "done"
    assert feed.poll().state == "done"


def test_a_run_the_store_does_not_know_yet_is_waited_for(tmp_path: Path) -> None:
    sources = FixedSources(tmp_path)
    feed = RunFeed(sources, "261201-zzzzz")
    assert feed.poll().record is None
    run = ui_data.running()
    run.record = ui_data.record("261201-zzzzz", "running")
    sources.store.all = {"261201-zzzzz": run}
    sources.time_s += 2.0
    snapshot = feed.poll()
    assert snapshot.record is not None
    assert snapshot.view.started is not None


def test_a_flood_is_read_in_batches_and_the_log_gives_way(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(run_feed, "BATCH", 100)
    monkeypatch.setattr(run_feed, "_LOG_LINES_WHEN_BEHIND", 10)
    run = ui_data.running()
    sources = FixedSources(tmp_path, [run])
    feed = RunFeed(sources, run.record.id)
    before = feed.poll()
    last = run.events[-1]
    for index in range(1, 451):
        run.events.append(StoredEvent(last.id + index, last.run, last.time_s, LogLine(text=str(index))))
    run.events.append(StoredEvent(last.id + 451, last.run, last.time_s, StepStarted(step="recheck")))
    first = feed.poll()
    assert first.behind
    second = feed.poll()
    assert not second.behind
    assert second.view.steps[5].state == "running"
    shown = second.view.log_total - before.view.log_total
    assert shown + second.view.log_skipped == 450
    assert second.view.log_skipped > 0
