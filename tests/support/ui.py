"""Helpers of the app's tests: fixed sources, a settled app, and fixtures that freeze what would flicker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from textual.pilot import Pilot

from edgelab.app import EdgeLabApp
from edgelab.bench.report.compare import compare
from edgelab.bench.report.instances import ReportRequest, found_instances
from edgelab.bench.report.view import ReportView, view_of
from edgelab.bench.tasks import TaskSpec
from edgelab.drivers.profile import ClockPolicy, load_profile
from edgelab.errors import NotReadyError, UsageError
from edgelab.events import DeviceSampled, RunStarted, StoredEvent
from edgelab.lab.board_view import BoardView
from edgelab.lab.device import Device
from edgelab.lab.host import HostState
from edgelab.lab.lab_file import Entry, device_of, profile_names
from edgelab.runs.candidate_file import candidate_path, read_candidate
from edgelab.screens.sources import PairSeries
from edgelab.store.records import MeasurementRecord, RunRecord, RunState, StepRecord, StoredSample
from edgelab.store.selection import SelectedRun
from tests.support import ui_data
from tests.support.ui_data import Run


class FixedStore:
    """A store in memory; `problem` makes every query fail with that message."""

    def __init__(self, runs: Sequence[Run], measurements: Sequence[MeasurementRecord]) -> None:
        self.all = {run.record.id: run for run in runs}
        self.measured = list(measurements)
        self.problem = ""

    def _check(self) -> None:
        if self.problem:
            raise NotReadyError(self.problem, advice="Choose another folder with --home.")

    def runs(self, limit: int = 200) -> list[RunRecord]:
        self._check()
        return [run.record for run in self.all.values()][:limit]

    def run(self, run_id: str) -> RunRecord | None:
        self._check()
        return self.all[run_id].record if run_id in self.all else None

    def steps(self, run: str) -> list[StepRecord]:
        self._check()
        return self.all[run].steps

    def events_after(self, event_id: int, *, run: str | None = None, limit: int = 2000) -> list[StoredEvent]:
        self._check()
        events = self.all[run].events if run in self.all else []
        return [event for event in events if event.id > event_id][:limit]

    def events_tail(self, run: str, limit: int) -> list[StoredEvent]:
        self._check()
        return self.all[run].events[-limit:] if run in self.all else []

    def measurements(self, limit: int = 500, task: str | None = None) -> list[MeasurementRecord]:
        self._check()
        return [row for row in self.measured if task in (None, row.task)][:limit]

    def measurement_of(self, run: str) -> MeasurementRecord | None:
        self._check()
        return next((row for row in self.measured if row.run == run), None)

    def times_resumed(self, run: str) -> int:
        self._check()
        return max(sum(isinstance(event.body, RunStarted) for event in self.all[run].events) - 1, 0)

    def device_sample(self, device: str) -> StoredSample | None:
        self._check()
        for run in self.all.values():
            for event in reversed(run.events):
                if run.record.device == device and isinstance(event.body, DeviceSampled):
                    return StoredSample(run=event.run, time_s=event.time_s, state=event.body)
        return None


class FixedFeed:
    """Views that stay until a test puts others; `asked` records requests."""

    def __init__(self, views: Sequence[BoardView] = ()) -> None:
        self.trouble = ""
        self.asked: list[tuple[str, str]] = []
        self.started = self.closed = False
        self._views = {view.device: view for view in views}
        self._listeners: list[Callable[[], None]] = []

    def views(self) -> Mapping[str, BoardView]:
        return self._views

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def put(self, *views: BoardView) -> None:
        self._views = {**self._views, **{view.device: view for view in views}}
        for listener in self._listeners:
            listener()

    def request(self, device: str, action: str) -> None:
        self.asked.append((action, device))

    def password(self, device: str, secret: str) -> None:
        self.asked.append(("password", device))

    def pause(self, paused: bool) -> None:
        self.asked.append(("pause", str(paused)))

    async def start(self) -> None:
        self.started = True

    async def close(self) -> None:
        self.closed = True


class FixedSources:
    """`Sources` with fixed answers; `asked` records what the app asked to be done."""

    def __init__(self, folder: Path, runs: Sequence[Run] = (), *, measured: bool = True) -> None:
        self._folder = folder
        self.store = FixedStore(runs, ui_data.MEASUREMENTS if measured else ())
        self.asked: list[tuple[str, str]] = []
        self.host_samples = 0
        self.time_s = ui_data.NOW_S
        self.blobs: dict[str, PairSeries] = {}
        self.boards = FixedFeed()
        self.lab: tuple[Device, ...] = (ui_data.LOCAL,)
        self.added: list[Entry] = []

    @property
    def screenshots(self) -> Path:
        return self._folder / "screenshots"

    @property
    def log_file(self) -> Path:
        return self._folder / "logs" / "app.log"

    @property
    def home_name(self) -> str:
        return "~/.local/share/edgelab"

    def now_s(self) -> float:
        return self.time_s

    def devices(self) -> Sequence[Device]:
        return self.lab

    @property
    def lab_note(self) -> str:
        return "It is added to ~/.config/edgelab/lab.toml."

    def profiles(self) -> Sequence[str]:
        return profile_names()

    def clock_policy(self, device: Device) -> ClockPolicy:
        return load_profile(device.profile).clocks

    def add_device(self, entry: Entry) -> Device:
        if any(device.name == entry.name for device in self.lab):
            raise UsageError(f"lab.toml line 1: name: a device {entry.name!r} is there already.")
        self.added.append(entry)
        device = device_of(entry, self._folder)
        self.lab = (*self.lab, device)
        self.boards = FixedFeed(list(self.boards.views().values()))
        return device

    def sample_host(self) -> HostState:
        self.host_samples += 1
        return ui_data.HOST

    def tasks(self) -> Sequence[TaskSpec]:
        return ui_data.TASKS

    def run_state(self, run: RunRecord) -> RunState:
        return self.store.all[run.id].state

    def series(self, digest: str) -> PairSeries | None:
        return self.blobs.get(digest)

    def candidate(self, typed: str) -> Path:
        path = candidate_path(typed)
        read_candidate(path)
        return path

    def report(self, runs: Sequence[str]) -> ReportView:
        wanted = runs or tuple(self.store.all)
        return view_of(self._selected(wanted), ui_data.TASKS, ReportRequest(), ui_data.NOW_S)

    def comparison(self, first: str, second: str) -> ReportView:
        sides = [found_instances(self._selected([run]), ui_data.TASKS) for run in (first, second)]
        return ReportView(comparison=compare(first, second, *sides), made_s=ui_data.NOW_S)

    def _selected(self, runs: Sequence[str]) -> list[SelectedRun]:
        records = [self.store.all[run].record for run in runs if run in self.store.all]
        return [SelectedRun(record) for record in records if record.result is not None]

    def launch(self, task: TaskSpec, device: Device, candidate: Path | None = None) -> str:
        of = f" with {candidate.name}" if candidate else ""
        self.asked.append(("launch", f"{task.name} on {device.name}{of}"))
        return self._start()

    def again(self, run_id: str) -> str:
        self.asked.append(("again", run_id))
        return self._start()

    def _start(self) -> str:
        started = ui_data.running()
        self.store.all = {started.record.id: started, **self.store.all}
        return started.record.id

    def stop(self, run_id: str) -> None:
        self.asked.append(("stop", run_id))

    def resume(self, run_id: str) -> None:
        self.asked.append(("resume", run_id))


def app_over(folder: Path, *runs: Run, watch: bool = True, measured: bool = True) -> EdgeLabApp:
    """Return an app over fixed data; it opens the first run in the Runner unless `watch` is False."""
    sources = FixedSources(folder, runs, measured=measured)
    return EdgeLabApp(sources, watch=runs[0].record.id if runs and watch else None)


def fixed(app: EdgeLabApp) -> FixedSources:
    """Return the app's fixed sources."""
    assert isinstance(app.sources, FixedSources)
    return app.sources


async def until(pilot: Pilot[None], condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    """Let the app work until `condition` holds. Fails the test after `limit_s`."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, "the app did not get there in time"
        await pilot.pause(0.02)
    await pilot.pause()


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the time zone, and let one sample of the host stand for all."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("edgelab.screens.lab.SAMPLE_S", 3600.0)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("textual.widgets.Input.cursor_blink", False)
