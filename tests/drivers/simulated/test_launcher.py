"""The process that serves a folder's boards: one a folder, started when needed, gone without leftovers."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncssh
import msgspec
import pytest

from edgelab.drivers.simulated import launcher, serve
from edgelab.drivers.simulated.launcher import BoardPlace, Served, boards_file, ensure_running
from edgelab.errors import NotReadyError

pytestmark = pytest.mark.integration


@pytest.fixture
def folder(tmp_path):
    yield tmp_path / "lab"
    if (tmp_path / "lab").exists():
        launcher.stop(tmp_path / "lab")
        assert not launcher.is_running(tmp_path / "lab")


def process_of(folder: Path) -> int:
    return msgspec.json.decode(boards_file(folder).read_bytes(), type=Served).pid


def wait_until(condition) -> None:
    end_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end_s, "it did not happen in time"
        time.sleep(0.02)


def running(mark: str) -> bool:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in place.read_bytes():
                return True
    return False


def connect(place: BoardPlace):
    return asyncssh.connect(
        place.host, place.port, username=place.user, client_keys=[place.key], known_hosts=place.known_hosts,
        config=None, agent_path=None,
    )  # fmt: skip


def test_several_starters_get_one_server(folder):
    code = (
        "import sys; from pathlib import Path; from edgelab.drivers.simulated.launcher import ensure_running\n"
        "print(ensure_running(Path(sys.argv[1]), sys.argv[2], 'rk3588').port)"
    )
    starters = [
        subprocess.Popen([sys.executable, "-c", code, str(folder), name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two", "one", "three")
    ]
    ports = [starter.communicate(timeout=30)[0].strip() for starter in starters]
    assert all(ports)
    assert ports[0] == ports[2]
    assert len(set(ports)) == 3
    log = (folder / "serve.log").read_text()
    assert log.count(" is served at port ") == 3
    assert Path(f"/proc/{process_of(folder)}").exists()


async def test_a_killed_server_leaves_nothing_and_is_started_again(folder):
    place = ensure_running(folder, "rock", "rk3588")
    first, mark = process_of(folder), f"60.{secrets.randbelow(10**9):09}"
    async with connect(place) as connection, connection.create_process(f"setsid sleep {mark} & sleep {mark}"):
        wait_until(lambda: running(mark))
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not running(mark))
    again = ensure_running(folder, "rock", "rk3588")
    assert process_of(folder) != first
    # The board is the same: its keys and its tree.
    assert again.root == place.root
    async with connect(again) as connection:
        assert (await connection.run("echo hello")).stdout == "hello\n"


def test_whoever_started_the_server_has_no_child_left(folder):
    ensure_running(folder, "rock", "rk3588")
    with pytest.raises(ChildProcessError):
        os.waitpid(process_of(folder), os.WNOHANG)


def test_the_server_ends_when_its_folder_is_gone(folder, tmp_path):
    ensure_running(folder, "rock", "rk3588")
    pid = process_of(folder)
    folder.rename(tmp_path / "elsewhere")
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


async def test_the_server_ends_when_nobody_comes(folder):
    launcher.requests_folder(folder).mkdir(parents=True)
    (launcher.requests_folder(folder) / "rock").write_text("rk3588")
    await serve.Lab(folder).run(idle_limit_s=0.2)
    assert not boards_file(folder).exists()


def test_a_second_server_of_a_folder_says_so(folder):
    ensure_running(folder, "rock", "rk3588")
    second = subprocess.run(
        [sys.executable, "-m", "edgelab.drivers.simulated.serve", str(folder)], capture_output=True, text=True
    )
    assert (second.returncode, "served already" in second.stderr) == (3, True)


def test_a_profile_without_a_simulated_board_is_refused_at_once(folder):
    with pytest.raises(NotReadyError, match="no simulated board for the profile 'linux-x86_64'"):
        ensure_running(folder, "pc", "linux-x86_64")


def test_a_server_that_cannot_start_is_not_tried_for_ever(folder, monkeypatch):
    folder.mkdir()
    (folder / "host_key").write_text("no key")
    began_s = time.monotonic()
    with pytest.raises(NotReadyError, match="ended 3 times while it started") as refused:
        ensure_running(folder, "rock", "rk3588")
    assert "serve.log" in refused.value.advice
    assert "KeyImportError" in (folder / "serve.log").read_text()
    assert time.monotonic() - began_s < 15


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotReadyError, match="cannot be served"):
        ensure_running(tmp_path / "file" / "lab", "rock", "rk3588")
