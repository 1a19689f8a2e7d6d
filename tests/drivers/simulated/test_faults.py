"""Every fault of a simulated board shows over real SSH while it is on, and not when it is off."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from typing import NamedTuple

import asyncssh
import pytest

from edgelab.drivers.board_lease import lease_command
from edgelab.drivers.simulated import faults
from tests.drivers.simulated.board_tools import connected, said
from tests.support.boards import ServedBoard, served

pytestmark = pytest.mark.integration

ROCK, ORIN, PHONE = "rk3588", "jetson-agx-orin-64gb", "snapdragon-8-gen-3"
NODE = "@/sys/class/devfreq/fb000000.gpu"
FAST = f"echo performance | sudo -n tee {NODE}/governor >/dev/null"
UNTIL_BUSY = f"until grep -q ^97 {NODE}/load; do sleep 0.02; done; sleep 0.2"
LOADED = f"gpu-load 5 & {UNTIL_BUSY}; cat @/sys/kernel/debug/clk/clk_summary; kill $!; wait"
LOCK = "sudo -n @/usr/bin/jetson_clocks"
GPU_LOW = "cat @/sys/class/devfreq/17000000.gpu/min_freq"


class Seen(NamedTuple):
    """What shows a fault: what is done first, then what prints `shows` with the fault and not without it."""

    profile: str
    changes: dict[str, object]
    line: str
    shows: str
    first: str = "true"
    given: bytes = b""


SEEN = {
    "clock_cap_hz": Seen(ROCK, {"clock_cap_hz": 850_000_000}, f"cat {NODE}/cur_freq", "^800000000$", FAST),
    "real_gpu_hz": Seen(ROCK, {"real_gpu_hz": 850_000_000}, LOADED, r" clk_gpu +1 .* 850000000 "),
    "idle_gpu_row": Seen(ROCK, {"idle_gpu_row": True}, LOADED, r" clk_gpu +0 .* 297000000 "),
    "lock_lost": Seen(ORIN, {"lock_lost": True}, GPU_LOW, "^306000000$", LOCK),
    "lock_lost_after_s": Seen(ORIN, {"lock_lost_after_s": 0.0}, GPU_LOW, "^306000000$", LOCK),
    "no_userspace": Seen(
        ROCK, {"no_userspace": True}, f"grep -c userspace {NODE}/available_governors", "^0$"
    ),
    "no_target": Seen(ROCK, {"no_target": True}, f"cat {NODE}/available_frequencies", "900000000 $"),
    "governor_refused": Seen(
        ROCK, {"governor_refused": True}, f"echo userspace | sudo -n tee {NODE}/governor", "Invalid argument"
    ),
    "gpu_units": Seen(ORIN, {"gpu_units": 4}, "sudo -n @/usr/bin/jetson_clocks --show", "Active GPU TPCs: 4"),
    "temperature_c": Seen(
        ORIN, {"temperature_c": 91.5}, "cat @/sys/class/thermal/thermal_zone*/temp", "^91500$"
    ),
    # Before the next one, which lets all counters grow.
    "throttle_counters": Seen(
        ORIN,
        {"throttles_per_s": 9e5, "throttle_counters": ("oc3",)},
        "cat @/sys/class/hwmon/hwmon4/oc*_event_cnt | tr '\\n' ' '",
        "^0 0 [1-9]",
    ),
    "throttles_per_s": Seen(
        ORIN, {"throttles_per_s": 9e5}, "cat @/sys/class/hwmon/hwmon4/oc2_event_cnt", "^[1-9]"
    ),
    "busy_cores": Seen(ROCK, {"busy_cores": 3.0}, "cat @/proc/loadavg", r"^3\.05"),
    "gpu_busy": Seen(ROCK, {"gpu_busy": True}, f"cat {NODE}/load", "^97@"),
    "free_disk_kib": Seen(
        ROCK, {"free_disk_kib": 0}, "echo x | cat >note; df -Pk .", "100% /\n.*No space left"
    ),
    "battery_percent": Seen(PHONE, {"battery_percent": 9}, "@/system/bin/dumpsys battery", "level: 9$"),
    "clock_offset_s": Seen(
        ROCK, {"clock_offset_s": -9 * 3600}, "echo $(($(/bin/date +%s) - $(date +%s)))", "^3(2400|2399)$"
    ),
    "reboot_prompt": Seen(
        ORIN,
        {"reboot_prompt": True},
        "sudo -n @/usr/sbin/nvpmodel -m 0",
        "Reboot required",
        "sudo -n @/usr/sbin/nvpmodel -m 3",
        b"NO\n",
    ),
    "mode_write_failed": Seen(
        ORIN, {"mode_write_failed": True}, "sudo -n @/usr/sbin/nvpmodel -m 3", "failed to set power mode"
    ),
    "hung_tool": Seen(ORIN, {"hung_tool": True}, "timeout 0.3 @/usr/sbin/nvpmodel -q; echo $?", "^124$"),
    "sudo": Seen(ROCK, {"sudo": "denied"}, "sudo -n true", "not in the sudoers file"),
    "odd_bytes": Seen(
        ROCK, {"odd_bytes": True}, "cat @/proc/device-tree/model", "^\N{REPLACEMENT CHARACTER}+Radxa"
    ),
    "dangling": Seen(
        ROCK, {"dangling": True}, "cat @/sys/class/thermal/thermal_zone90/*", "type: No such file"
    ),
    "lease_holder": Seen(ROCK, {"lease_holder": "eve@attic"}, "LEASE", "^held\n.*eve@attic"),
    "cut_bytes": Seen(ROCK, {"cut_bytes": 5}, "echo 123456789", "^12345$"),
    "garbage_bytes": Seen(ROCK, {"garbage_bytes": 10 << 20}, "echo end", "^x{1000}"),
}
OF_THE_LINK = {"delay_s", "bytes_per_s", "drop_link", "blackhole"}


def test_every_fault_is_here():
    assert {*SEEN} | OF_THE_LINK == {*faults.NAMES}


async def ask(board: ServedBoard, connection: asyncssh.SSHClientConnection, seen: Seen, line: str) -> str:
    if line == "LEASE":
        line = shlex.join(lease_command(board.address.lease).argv)
    return await said(connection, line.replace("@/", f"{board.tree}/"), seen.given)


@pytest.mark.parametrize("profile", [ROCK, ORIN, PHONE])
async def test_a_fault_shows_while_it_is_on(profile, tmp_path):
    async with served(tmp_path, profile) as board, connected(board.address) as connection:
        for name, seen in SEEN.items():
            if seen.profile != profile:
                continue
            board.set()
            await ask(board, connection, seen, seen.first)
            before = await ask(board, connection, seen, seen.line)
            assert not re.search(seen.shows, before, re.MULTILINE), (name, before)
            await ask(board, connection, seen, seen.first)
            board.set(**seen.changes)
            # What counts by time needs some.
            await said(connection, "true")
            after = await ask(board, connection, seen, seen.line)
            assert re.search(seen.shows, after, re.MULTILINE | re.DOTALL), (name, after[:500])


async def test_a_file_with_other_faults_is_told_and_not_obeyed(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        faults.path_of(board.tree).write_text('{"no_such_fault": true}')
        assert "no_such_fault" in await said(connection, "echo obeyed")
        faults.path_of(board.tree).write_text("{")
        assert "obeyed" not in await said(connection, "echo obeyed")
        board.set()
        assert await said(connection, "echo obeyed") == "obeyed\n"


async def test_a_full_disk_takes_no_files(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        async with connection.start_sftp_client() as sftp:
            async with sftp.open("kept", "wb") as file:
                await file.write(b"x" * 10)
            board.set(free_disk_kib=0)
            with pytest.raises(asyncssh.SFTPError, match="No space left"):
                async with sftp.open("lost", "wb") as file:
                    await file.write(b"x" * 10)
        assert (board.tree / "home/lab/kept").read_bytes() == b"x" * 10
        assert "No space left" in await said(connection, "echo x | tee kept")


async def test_a_slow_link_delays_answers_and_limits_what_passes(tmp_path):
    async with served(tmp_path, delay_s=0.2) as board, connected(board.address) as connection:
        began_s = time.monotonic()
        await asyncio.gather(*(said(connection, "true") for _ in range(4)))
        assert time.monotonic() - began_s >= 0.2
        board.set(bytes_per_s=100_000)
        began_s = time.monotonic()
        assert len(await said(connection, "head -c 40000 /dev/zero")) == 40_000
        assert time.monotonic() - began_s >= 0.35
        began_s = time.monotonic()
        async with connection.start_sftp_client() as sftp, sftp.open("sent", "wb") as file:
            await file.write(b"x" * 40_000)
        assert time.monotonic() - began_s >= 0.35


async def test_a_dropped_link_is_cut_at_once(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        board.set(drop_link=True)
        async with asyncio.timeout(3):
            await connection.wait_closed()
        board.set()
        async with connected(board.address) as again:
            assert await said(again, "echo back") == "back\n"


async def test_a_pulled_cable_says_nothing_and_carries_on_when_it_is_back(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as connection:
        talking = asyncio.create_task(said(connection, "until [ -e go ]; do sleep 0.05; done; echo done"))
        await said(connection, "true")
        board.set(blackhole=True)
        while board.server.reachable:  # noqa: ASYNC110 - the watch has no event for others
            await asyncio.sleep(0.02)
        (board.tree / "home/lab/go").touch()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.7):
                await asyncio.shield(talking)
        with pytest.raises((TimeoutError, asyncssh.Error, OSError)):
            async with asyncio.timeout(0.5), connected(board.address):
                raise AssertionError("must not be reached")
        board.set()
        async with asyncio.timeout(5):
            assert await talking == "done\n"
            assert await said(connection, "echo again") == "again\n"
