"""Where the app's data comes from, as one small interface that tests replace with fixed data.

Every method may block and is called off the event loop; those that read the store are all called in one
thread, because a store reader belongs to one thread at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from edgelab.bench.report.view import ReportView
    from edgelab.bench.tasks import TaskSpec
    from edgelab.drivers.profile import ClockPolicy
    from edgelab.events import StoredEvent
    from edgelab.lab.device import Device
    from edgelab.lab.host import HostState
    from edgelab.lab.lab_file import Entry
    from edgelab.screens.board_feed import BoardFeed
    from edgelab.store.records import MeasurementRecord, RunRecord, RunState, StepRecord, StoredSample


class StoreSource(Protocol):
    """The queries of `StoreReader` that screens use."""

    def runs(self, limit: int = 200) -> list[RunRecord]:
        """Return the newest runs, newest first."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """Return one run."""
        ...

    def steps(self, run: str) -> list[StepRecord]:
        """Return the steps of a run."""
        ...

    def events_after(self, event_id: int, *, run: str | None = None, limit: int = 2000) -> list[StoredEvent]:
        """Return events with a higher id, oldest first."""
        ...

    def events_tail(self, run: str, limit: int) -> list[StoredEvent]:
        """Return the newest events of a run, oldest first."""
        ...

    def measurements(self, limit: int = 500, task: str | None = None) -> list[MeasurementRecord]:
        """Return the newest measurements, newest first."""
        ...

    def measurement_of(self, run: str) -> MeasurementRecord | None:
        """Return the measurement of a run."""
        ...

    def times_resumed(self, run: str) -> int:
        """Return how often a run was resumed."""
        ...

    def device_sample(self, device: str) -> StoredSample | None:
        """Return the newest state that a run read off a device."""
        ...


class PairSeries(msgspec.Struct, frozen=True):
    """The latencies of all pairs of a measurement, as its blob has them."""

    candidate_s: tuple[float, ...]
    baseline_s: tuple[float, ...]


class Sources(Protocol):
    """All that the screens ask of the rest of EdgeLab."""

    @property
    def store(self) -> StoreSource:
        """The store's reader."""
        ...

    @property
    def screenshots(self) -> Path:
        """The folder for screenshots."""
        ...

    @property
    def log_file(self) -> Path:
        """Where tracebacks of the app go."""
        ...

    @property
    def home_name(self) -> str:
        """The data folder as shown to people."""
        ...

    def now_s(self) -> float:
        """Return the time, seconds since the epoch. Never blocks."""
        ...

    def devices(self) -> Sequence[Device]:
        """Return the lab's devices."""
        ...

    @property
    def boards(self) -> BoardFeed:
        """Whoever keeps the boards of the lab in view; another one after a device was added."""
        ...

    @property
    def lab_note(self) -> str:
        """Where a new device is written, and what else that changes, in words."""
        ...

    def profiles(self) -> Sequence[str]:
        """Return the names of all device profiles."""
        ...

    def clock_policy(self, device: Device) -> ClockPolicy:
        """Return what the profile of a device wants its clocks to be. Raises `UsageError` for a wrong profile."""
        ...

    def add_device(self, entry: Entry) -> Device:
        """Write a device into the lab file. Raises `UsageError` for a wrong entry."""
        ...

    def sample_host(self) -> HostState:
        """Return the state of this machine."""
        ...

    def tasks(self) -> Sequence[TaskSpec]:
        """Return the catalogue."""
        ...

    def series(self, digest: str) -> PairSeries | None:
        """Return the whole series of a measurement by its `series_blob`; None when lost or damaged."""
        ...

    def run_state(self, run: RunRecord) -> RunState:
        """Return the true state of a run: `lost` when its process is gone."""
        ...

    def candidate(self, typed: str) -> Path:
        """Return the candidate file that was typed. Raises `UsageError` when it cannot be read as one."""
        ...

    def report(self, runs: Sequence[str]) -> ReportView:
        """Return the metrics over `runs`, or over all results of the suite when none is named."""
        ...

    def comparison(self, first: str, second: str) -> ReportView:
        """Return two runs side by side. Raises `UsageError` when one has no verdict."""
        ...

    def launch(self, task: TaskSpec, device: Device, candidate: Path | None = None) -> str:
        """Start a run of the task's own import, or of a candidate file; returns its id."""
        ...

    def again(self, run_id: str) -> str:
        """Start a new run of what an earlier one ran, its candidate file read anew; returns its id."""
        ...

    def stop(self, run_id: str) -> None:
        """Stop a run and wait for its end."""
        ...

    def resume(self, run_id: str) -> None:
        """Continue a run that was interrupted or lost."""
        ...
