from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.events import LogLine, PairsTimed, RunFinished, StepStarted, StoredEvent
from edgelab.screens import run_feed
from edgelab.screens.run_feed import RunFeed
from edgelab.screens.runner_panels import latency_plot
from edgelab.screens.sources import PairSeries
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


def opened_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[FixedSources, str]:
    """Return sources with a finished run of which only the last events are read."""
    monkeypatch.setattr(run_feed, "TAIL", 5)
    run = ui_data.finished()
    sources = FixedSources(tmp_path, [run])
    values = [body for event in run.events if isinstance(body := event.body, PairsTimed)]
    sources.blobs["e" * 64] = PairSeries(
        tuple(value for body in values for value in body.candidate_s),
        tuple(value for body in values for value in body.baseline_s),
    )
    return sources, run.record.id


def test_a_past_run_has_its_whole_series_from_the_measurement(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sources, run = opened_late(tmp_path, monkeypatch)
    feed = RunFeed(sources, run)
    view = feed.poll().view
    assert view.candidate.seen == view.speedup.seen == view.pairs == 200
    # Read once: what is lost later is not asked for again.
    sources.blobs.clear()
    assert feed.poll().view.candidate.seen == 200


def test_a_lost_blob_leaves_the_last_pairs_and_the_plot_says_so(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sources, run = opened_late(tmp_path, monkeypatch)
    sources.blobs.clear()
    view = RunFeed(sources, run).poll().view
    assert not view.whole_series
    monkeypatch.setattr(run_feed, "TAIL", 8)
    view = RunFeed(sources, run).poll().view
    assert 0 < view.candidate.seen < 200
    assert f"only the last {view.candidate.seen} of 200 pairs" in latency_plot(view).note


def test_a_resumption_before_the_tail_is_known(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sources, run = opened_late(tmp_path, monkeypatch)
    monkeypatch.setattr(sources.store, "times_resumed", lambda run: 2)
    assert RunFeed(sources, run).poll().view.resumed == 2
