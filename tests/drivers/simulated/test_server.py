"""Boards over real SSH: how commands run and end, files, reboots, many at once, and behind OpenSSH."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
from pathlib import Path

import asyncssh
import pytest

from edgelab.drivers.board_lease import lease_command
from edgelab.drivers.readings.jetson_clocks import read_jetson_clocks
from edgelab.drivers.simulated.board_state import load
from tests.drivers.simulated.board_tools import connected, said
from tests.support.boards import served, served_by_openssh
from tests.support.openssh import needs_openssh

pytestmark = pytest.mark.integration
ORIN = "jetson-agx-orin-64gb"


def running(mark: str) -> list[int]:
    """Return the processes whose command line holds `mark`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


async def until(condition) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - other processes have no event here
            await asyncio.sleep(0.02)


def a_minute() -> str:
    """Return an argument for sleep that no other process has."""
    return f"60.{secrets.randbelow(10**9):09}"


async def test_commands_run_in_the_boards_home_with_its_tools(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        assert await said(connection, "pwd; echo $HOME; id -u; sudo -n id -u; command -v tee") == (
            f"{board.tree}/home/lab\n{board.tree}/home/lab\n1000\n0\n{board.tree}/bin/tee\n"
        )
        done = await connection.run("cat; echo oops >&2; exit 5", input=b"a\xff\nb")
        assert (done.exit_status, done.stdout, done.stderr) == (5, b"a\xff\nb", b"oops\n")
        killed = await connection.run("kill -KILL $$")
        assert killed.exit_signal is not None
        assert killed.exit_signal[0] == "KILL"


async def test_a_signal_reaches_the_command(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        async with connection.create_process(
            "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.02; done"
        ) as process:
            assert await process.stdout.readline() == b"ready\n"
            process.send_signal("TERM")
            assert await process.stdout.read() == b"caught\n"
            await process.wait()
        assert process.exit_status == 3


@pytest.mark.parametrize("how", ["channel", "connection"])
async def test_a_command_ends_with_its_channel(tmp_path, how):
    mark = a_minute()
    async with served(tmp_path) as board, connected(board.address) as connection:
        process = await connection.create_process(f"sleep {mark} & sleep {mark}")
        await until(lambda: len(running(mark)) >= 2)
        process.close() if how == "channel" else connection.abort()
        await until(lambda: not running(mark))


async def test_nothing_of_a_board_outlives_it(tmp_path):
    mark = a_minute()
    async with served(tmp_path) as board, connected(board.address) as connection:
        # Left its process group and its channel, as a daemon does.
        await said(connection, f"setsid sleep {mark} >/dev/null 2>&1 </dev/null &")
        await until(lambda: running(mark))
    assert not running(mark)


async def test_a_reboot_cuts_links_ends_processes_and_resets_clocks(tmp_path):
    mark = a_minute()
    async with served(tmp_path, ORIN) as board:
        before = load(board.tree).boot_id
        async with connected(board.address) as connection:
            await said(connection, f"sudo -n {board.tree}/usr/bin/jetson_clocks")
            await said(connection, f"setsid sleep {mark} >/dev/null 2>&1 </dev/null &")
            board.happen("reboot")
            async with asyncio.timeout(5):
                await connection.wait_closed()
        await until(lambda: not running(mark))
        async with connected(board.address) as connection:
            shown = read_jetson_clocks(
                await said(connection, f"sudo -n {board.tree}/usr/bin/jetson_clocks --show")
            )
        assert shown.locked is False
        assert load(board.tree).boot_id != before


async def test_somebody_elses_lease_is_held_also_after_a_reboot(tmp_path):
    async with served(tmp_path, lease_holder="eve@attic") as board:
        asked = shlex.join(lease_command(board.address.lease).argv)
        async with connected(board.address) as connection:
            assert "eve@attic" in await said(connection, asked)
            board.happen("reboot")
            async with asyncio.timeout(5):
                await connection.wait_closed()
        async with connected(board.address) as connection:
            assert "eve@attic" in await said(connection, asked)
            board.set()
            assert (await said(connection, asked)).startswith("free")


@pytest.mark.parametrize(
    ("event", "mode", "locked"), [("wrong_mode_locked", "MODE_15W", True), ("maxn_unlocked", "MAXN", False)]
)
async def test_somebody_left_a_jetson_in_another_state(tmp_path, event, mode, locked):
    async with served(tmp_path, ORIN) as board, connected(board.address) as connection:
        board.happen(event)
        shown = read_jetson_clocks(
            await said(connection, f"sudo -n {board.tree}/usr/bin/jetson_clocks --show")
        )
        assert (shown.mode, shown.locked, shown.session_ok) == (mode, locked, False)


async def test_time_goes_on_for_whoever_reads_nodes_without_a_command(tmp_path):
    async with served(tmp_path) as board, connected(board.address):
        node = board.tree / "sys/class/devfreq/fb000000.gpu/governor"
        node.write_text("performance\n")
        board.set(lock_lost=True)
        await until(lambda: node.read_text() == "simple_ondemand\n")


async def test_files_go_to_the_home_and_nowhere_else(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        async with connection.start_sftp_client() as sftp:
            await sftp.makedirs(".edgelab/blobs")
            async with sftp.open(".edgelab/blobs/b", "wb") as file:
                await file.write(b"blob")
            await sftp.posix_rename(".edgelab/blobs/b", ".edgelab/blobs/c")
            assert await sftp.listdir(".edgelab/blobs") in (["c", ".", ".."], [".", "..", "c"], ["c"])
        assert (board.tree / "home/lab/.edgelab/blobs/c").read_bytes() == b"blob"


async def test_only_the_labs_key_gets_in(tmp_path):
    async with served(tmp_path) as board:
        address = board.address
        with pytest.raises(asyncssh.PermissionDenied):
            async with asyncssh.connect(
                address.host, address.port, username=address.user, config=None, agent_path=None,
                known_hosts=address.known_hosts, client_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            ):  # fmt: skip
                raise AssertionError("must not be reached")


async def test_many_boards_in_one_process_answer_at_once(tmp_path):
    async with contextlib.AsyncExitStack() as stack:
        boards = [await stack.enter_async_context(served(tmp_path / str(number))) for number in range(8)]
        links = [await stack.enter_async_context(connected(board.address)) for board in boards]
        answers = await asyncio.gather(
            *(said(link, "cat $BOARD/proc/sys/kernel/random/boot_id") for link in links)
        )
        assert len(set(answers)) == len(boards)


@needs_openssh
async def test_the_same_board_behind_openssh(tmp_path):
    with served_by_openssh(tmp_path, ORIN, free_disk_kib=12_345) as board:
        async with connected(board.address) as connection:
            assert "12345" in await said(connection, "df -Pk .")
            assert await said(connection, "pwd; id -u") == f"{board.tree}/home/lab\n1000\n"
            lock = f"sudo -n {board.tree}/usr/sbin/nvpmodel -m 0; sudo -n {board.tree}/usr/bin/jetson_clocks"
            assert await said(connection, lock) == ""
            shown = await said(connection, f"sudo -n {board.tree}/usr/bin/jetson_clocks --show")
            assert read_jetson_clocks(shown).session_ok
            board.happen("wrong_mode_locked")
            assert "MODE_15W" in await said(connection, f"{board.tree}/usr/sbin/nvpmodel -q")
            async with connection.start_sftp_client() as sftp, sftp.open("note", "wb") as file:
                await file.write(b"kept")
        assert (board.tree / "home/lab/note").read_bytes() == b"kept"
