"""The run folder: the lock tells the living from the dead, whatever killed them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from edgelab.errors import NotReadyError, UsageError
from edgelab.home import Home
from edgelab.runs.folder import RunFolder
from edgelab.runs.spec import RunSpec, new_run_id

_HOLD = "import sys; sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read()"


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    folder = RunFolder(Home(tmp_path).ensure(), "r1")
    folder.create(RunSpec(task="softmax"))
    return folder


def test_spec_comes_back(folder):
    assert folder.spec() == RunSpec(task="softmax")


def test_spec_of_no_run_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        RunFolder(Home(tmp_path), "nope").spec()


def test_a_run_nobody_holds_is_dead(folder):
    assert not folder.is_alive()
    assert folder.holder() is None


def test_lock_is_seen_and_named(folder):
    lock = folder.acquire()
    folder.note_holder(lock, 4711)
    assert folder.is_alive()
    assert folder.holder() == 4711
    with pytest.raises(UsageError, match="already running \\(pid 4711\\)"):
        folder.acquire()
    os.close(lock)
    assert not folder.is_alive()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_lock_handed_to_a_process_falls_with_it(folder, number):
    lock = folder.acquire()
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[lock]
    )
    os.close(lock)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert folder.is_alive()
    process.send_signal(number)
    process.wait(10)
    assert not folder.is_alive()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()


def test_two_who_ask_do_not_see_each_other_as_alive(folder):
    os.close(folder.acquire())
    first = os.open(folder.path / "lock", os.O_RDONLY)
    import fcntl

    fcntl.flock(first, fcntl.LOCK_SH)
    assert not folder.is_alive()
    os.close(first)


def test_reserve_is_given_back_once(folder):
    assert (folder.path / "reserve").stat().st_size >= 256 * 1024
    folder.release_reserve()
    folder.release_reserve()
    assert not (folder.path / "reserve").exists()


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(NotReadyError, match="Cannot create the run folder"):
        RunFolder(Home(tmp_path), "r1").create(RunSpec(task="t"))


def test_ids_are_sortable_by_day_and_differ():
    ids = {new_run_id(1e9) for _ in range(200)}
    assert len(ids) == 200
    assert all(len(run_id) == 12 and run_id[6] == "-" for run_id in ids)
    assert new_run_id(1e9)[:6] < new_run_id(2e9)[:6]
