"""The app's real sources over a real store and real locks, without starting a run."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from edgelab.app import EdgeLabApp
from edgelab.bench.tasks import TaskSpec
from edgelab.errors import NotReadyError, UsageError
from edgelab.events import RunStarted, StepStarted
from edgelab.home import Home
from edgelab.lab.lab_file import Entry
from edgelab.runs.folder import RunFolder
from edgelab.runs.spec import RunSpec
from edgelab.screens.live_sources import LiveSources
from edgelab.screens.run_feed import RunFeed
from edgelab.screens.sources import PairSeries
from edgelab.store.blobs import BlobStore
from edgelab.store.records import RunRecord
from edgelab.store.writer import StoreWriter
from tests.support.ui import until

RUN = "261201-live1"


def started_run(home: Home) -> RunFolder:
    home.ensure()
    folder = RunFolder(home, RUN)
    folder.create(RunSpec(task="softmax"))
    with StoreWriter(home.database) as writer:
        writer.create_run(
            RunRecord(id=RUN, task="softmax", device="local", backend="llvm", state="running", created_s=1.0)
        )
        writer.append(
            RUN, [RunStarted(task="softmax", device="local", backend="llvm"), StepStarted(step="build")]
        )
    return folder


def test_a_store_that_is_not_there_yet_reads_as_empty(tmp_path: Path) -> None:
    sources = LiveSources(Home(tmp_path / "new"))
    assert sources.store.runs() == []
    assert RunFeed(sources, RUN).poll().record is None
    assert not (tmp_path / "new").exists()


def test_a_damaged_store_is_an_error_with_the_files_name(tmp_path: Path) -> None:
    home = Home(tmp_path).ensure()
    home.database.write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(NotReadyError, match=r"edgelab\.db"):
        LiveSources(home).store.runs()


def test_a_run_is_alive_while_its_lock_is_held_and_lost_after(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = started_run(home)
    lock = folder.acquire()
    try:
        snapshot = RunFeed(LiveSources(home), RUN).poll()
    finally:
        os.close(lock)
    assert snapshot.state == "running"
    assert snapshot.view.step is not None
    assert snapshot.view.step.name == "build"
    assert RunFeed(LiveSources(home), RUN).poll().state == "lost"


def test_tasks_devices_and_host_are_there(tmp_path: Path) -> None:
    sources = LiveSources(Home(tmp_path))
    assert "local" in {device.name for device in sources.devices()}
    assert sources.sample_host().memory_total_bytes
    assert len(sources.tasks()) >= 30


async def test_the_app_shows_a_damaged_store_as_a_banner(tmp_path: Path) -> None:
    home = Home(tmp_path).ensure()
    home.database.write_bytes(b"this is no database, whatever its name says" * 100)
    app = EdgeLabApp(LiveSources(home))
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("5")
        await until(
            pilot,
            lambda: (
                "Cannot read the store" in "\n".join(s.text for s in app.screen._compositor.render_strips())
            ),
        )


def recorded_launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RunSpec, str]]:
    """Record what would be launched, instead of starting processes."""
    asked: list[tuple[RunSpec, str]] = []

    def launched(home: Home, spec: RunSpec, task: TaskSpec) -> str:
        asked.append((spec, task.name))
        return "261201-new01"

    monkeypatch.setattr("edgelab.runs.launch.launch", launched)
    return asked


def test_a_run_with_a_candidate_carries_its_text_and_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = recorded_launches(monkeypatch)
    sources = LiveSources(Home(tmp_path))
    file = tmp_path / "kernel.py"
    file.write_text("# one")
    task, device = sources.tasks()[0], sources.devices()[0]
    assert sources.launch(task, device, sources.candidate(str(file))) == "261201-new01"
    assert sources.launch(task, device) == "261201-new01"
    (with_file, name), (own, _) = asked
    assert (with_file.candidate_text, with_file.candidate_path, name) == ("# one", str(file), task.name)
    assert (own.candidate_text, own.candidate_path) == (None, "")


def test_a_run_again_reads_the_candidate_file_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = recorded_launches(monkeypatch)
    home = Home(tmp_path / "home").ensure()
    sources = LiveSources(home)
    file = tmp_path / "kernel.py"
    file.write_text("# two")
    name = sources.tasks()[0].name
    earlier = RunSpec(task=name, device="local", candidate_text="# one", candidate_path=str(file))
    RunFolder(home, RUN).create(earlier)
    assert sources.again(RUN) == "261201-new01"
    assert asked == [(msgspec.structs.replace(earlier, candidate_text="# two"), name)]
    file.unlink()
    with pytest.raises(UsageError, match=r"kernel\.py cannot be read: No such file"):
        sources.again(RUN)
    with pytest.raises(UsageError, match="gone1"):
        sources.again("261201-gone1")


def test_a_series_is_read_from_its_blob_and_a_lost_or_damaged_one_is_none(tmp_path: Path) -> None:
    home = Home(tmp_path).ensure()
    sources = LiveSources(home)
    digest = BlobStore(home.blobs).put(b'{"candidate_s":[1.0,2.0],"baseline_s":[3.0,4.0]}')
    assert sources.series(digest) == PairSeries((1.0, 2.0), (3.0, 4.0))
    assert sources.series("0" * 64) is None
    assert sources.series("") is None
    assert sources.series(BlobStore(home.blobs).put(b"not json")) is None


def test_an_added_device_is_in_the_lab_and_its_boards_are_watched_anew(tmp_path: Path) -> None:
    lab_file = tmp_path / "lab.toml"
    lab_file.write_text("# my lab\n")
    sources = LiveSources(Home(tmp_path / "home"), lab_file)
    before = sources.boards
    assert str(lab_file) in sources.lab_note
    added = sources.add_device(Entry(name="rock", profile="rk3588", host="10.0.0.9"))
    assert [device.name for device in sources.devices()] == ["local", "rock"]
    assert sources.boards is not before
    assert sources.clock_policy(added).gpu_hz == 1_000_000_000
    assert "rk3588" in sources.profiles()
    assert lab_file.read_text().startswith("# my lab\n")


def test_the_first_device_makes_a_lab_file_of_its_own_and_the_note_says_what_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    sources = LiveSources(Home(tmp_path / "home"))
    assert "simulated boards" in sources.lab_note
    sources.add_device(Entry(name="rock", profile="rk3588", host="10.0.0.9"))
    assert (tmp_path / "edgelab" / "lab.toml").exists()
    assert [device.name for device in sources.devices()] == ["local", "rock"]
