"""The sources of the real app: the store, the run layer and the lab, imported when first used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from edgelab.home import Home
from edgelab.screens.sources import PairSeries

if TYPE_CHECKING:
    from edgelab.bench.report.view import ReportView
    from edgelab.bench.tasks import TaskSpec
    from edgelab.drivers.profile import ClockPolicy
    from edgelab.lab.device import Device
    from edgelab.lab.host import HostSampler, HostState
    from edgelab.lab.lab_file import Entry
    from edgelab.lab.monitor_client import MonitorClient
    from edgelab.store.reader import StoreReader
    from edgelab.store.records import RunRecord, RunState


class LiveSources:
    """`Sources` over the data folder `home`."""

    def __init__(self, home: Home, lab_file: Path | None = None) -> None:
        self._home = home
        self._lab_file = lab_file
        self._reader: StoreReader | None = None
        self._boards: MonitorClient | None = None

    @property
    def store(self) -> StoreReader:
        """The store's reader; the database is opened by its first query."""
        if self._reader is None:
            from edgelab.store.reader import StoreReader

            self._reader = StoreReader(self._home.database)
        return self._reader

    @property
    def screenshots(self) -> Path:
        """The folder for screenshots."""
        return self._home.root / "screenshots"

    @property
    def log_file(self) -> Path:
        """Where tracebacks of the app go."""
        return self._home.logs / "app.log"

    @property
    def home_name(self) -> str:
        """The data folder, with the user's own folder as `~`."""
        root = self._home.root
        return f"~/{root.relative_to(Path.home())}" if root.is_relative_to(Path.home()) else str(root)

    @cached_property
    def _sampler(self) -> HostSampler:
        from edgelab.lab.host import HostSampler

        return HostSampler(self._home.root)

    def now_s(self) -> float:
        """Return the time, seconds since the epoch."""
        return time.time()

    def devices(self) -> Sequence[Device]:
        """Return the lab's devices."""
        from edgelab.lab.inventory import lab_devices

        return lab_devices(self._lab_file)

    @property
    def boards(self) -> MonitorClient:
        """The client of the monitor process, which is started when the lab has boards."""
        if self._boards is None:
            from edgelab.lab.monitor_client import MonitorClient

            self._boards = MonitorClient(self._home, self._lab_file)
        return self._boards

    @property
    def lab_note(self) -> str:
        """Where a new device is written, and what else that changes, in words."""
        from edgelab.lab.inventory import own_lab_path

        path = self._lab_file or own_lab_path()
        if self._lab_file is not None:
            return f"It is added to {path}."
        return f"{path} is made for it; the simulated boards are then shown only where it names them."

    def profiles(self) -> Sequence[str]:
        """Return the names of all device profiles."""
        from edgelab.lab.lab_file import profile_names

        return profile_names()

    def clock_policy(self, device: Device) -> ClockPolicy:
        """Return what the profile of a device wants its clocks to be. Raises `UsageError` for a wrong profile."""
        from edgelab.drivers.profile import load_profile

        return load_profile(device.profile).clocks

    def add_device(self, entry: Entry) -> Device:
        """Write a device into the lab file, which is made when there is none. Raises `UsageError`."""
        from edgelab.lab.add_device import add_device
        from edgelab.lab.inventory import own_lab_path

        path = self._lab_file or own_lab_path()
        added = add_device(path, entry)
        self._lab_file = path
        # The monitor knows the lab of its start: the next one is another's.
        self._boards = None
        return added

    def sample_host(self) -> HostState:
        """Return the state of this machine."""
        return self._sampler.sample()

    def tasks(self) -> Sequence[TaskSpec]:
        """Return the catalogue."""
        from edgelab.bench.tasks import Catalogue, catalogue_root

        return Catalogue.load(catalogue_root()).specs

    def run_state(self, run: RunRecord) -> RunState:
        """Return the true state of a run, by the lock on its folder."""
        from edgelab.runs import control

        return control.state(self._home, run)

    def series(self, digest: str) -> PairSeries | None:
        """Return the whole series of a measurement by its `series_blob`; None when lost or damaged."""
        from edgelab.store.blobs import BlobStore

        try:
            return msgspec.json.decode(BlobStore(self._home.blobs).get(digest), type=PairSeries)
        except (KeyError, ValueError, OSError):
            # The statistics are in the row; the plot says that it has only the last pairs.
            return None

    def candidate(self, typed: str) -> Path:
        """Return the candidate file that was typed. Raises `UsageError` when it cannot be read as one."""
        from edgelab.runs.candidate_file import candidate_path, read_candidate

        path = candidate_path(typed)
        read_candidate(path)
        return path

    def report(self, runs: Sequence[str]) -> ReportView:
        """Return the metrics over `runs`, or over all results of the suite when none is named."""
        from edgelab.bench.report.instances import ReportRequest
        from edgelab.bench.report.view import read_report, view_of_runs
        from edgelab.bench.tasks import Catalogue, catalogue_root

        specs = Catalogue.load(catalogue_root()).specs
        if runs:
            return view_of_runs(self._home.database, specs, runs, self.now_s())
        return read_report(self._home.database, specs, ReportRequest(), self.now_s())

    def comparison(self, first: str, second: str) -> ReportView:
        """Return two runs side by side. Raises `UsageError` when one has no verdict."""
        from edgelab.bench.report.view import read_comparison
        from edgelab.bench.tasks import Catalogue, catalogue_root

        specs = Catalogue.load(catalogue_root()).specs
        return read_comparison(self._home.database, specs, first, second, self.now_s())

    def launch(self, task: TaskSpec, device: Device, candidate: Path | None = None) -> str:
        """Start a detached run of the task's own import, or of a candidate file; returns its id."""
        from edgelab.runs import launch
        from edgelab.runs.candidate_file import read_candidate
        from edgelab.runs.spec import RunSpec

        spec = RunSpec(
            # A file outside the catalogue is named by its path, as `edgelab run FILE.py` does.
            task=task.name if task.level else str(task.path),
            device=device.name,
            entry=device,
            backend=device.backend,
            simulated=device.simulated,
            candidate_text=read_candidate(candidate) if candidate else None,
            candidate_path=str(candidate or ""),
        )
        return launch.launch(self._home, spec, task)

    def again(self, run_id: str) -> str:
        """Start a new run of what an earlier one ran, its files read anew; returns its id."""
        from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
        from edgelab.runs import launch
        from edgelab.runs.candidate_file import candidate_path, read_candidate
        from edgelab.runs.folder import RunFolder

        spec = RunFolder(self._home, run_id).spec()
        if spec.candidate_path:
            text = read_candidate(candidate_path(spec.candidate_path))
            spec = msgspec.structs.replace(spec, candidate_text=text)
        if spec.source_path:
            text = read_candidate(candidate_path(spec.source_path), "source")
            spec = msgspec.structs.replace(spec, source_text=text)
        return launch.launch(self._home, spec, resolve(spec.task, Catalogue.load(catalogue_root())))

    def stop(self, run_id: str) -> None:
        """Stop a run and wait for its end."""
        from edgelab.runs import control

        control.stop(self._home, run_id)

    def resume(self, run_id: str) -> None:
        """Continue a run that was interrupted or lost."""
        from edgelab.runs import launch

        launch.resume(self._home, run_id)
