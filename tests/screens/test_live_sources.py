"""The app's real sources over a real store and real locks, without starting a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgelab.app import EdgeLabApp
from edgelab.errors import NotReadyError
from edgelab.events import RunStarted, StepStarted
from edgelab.home import Home
from edgelab.runs.folder import RunFolder
from edgelab.runs.spec import RunSpec
from edgelab.screens.live_sources import LiveSources
from edgelab.screens.run_feed import RunFeed
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
