"""How long checks of many boards take, and what polling them costs: simulated boards over real SSH on loopback.

    python benchmarks/board_checks.py [--boards 8] [--delay-ms 50] [--seconds 20]

Boards are served by a process of their own, which is not counted. Each answer of a board waits `--delay-ms`,
as over a slow link. Goals: 8 boards checked at once in 2.5 s, polled once a second for at most 10 % of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import statistics
import tempfile
import time
from pathlib import Path

from edgelab.drivers.simulated import faults, launcher
from edgelab.drivers.simulated.faults import Faults
from edgelab.home import Home
from edgelab.lab.board_keeper import BoardKeeper
from edgelab.lab.board_view import BoardView
from edgelab.lab.connection import open_board
from edgelab.lab.device import Device

PROFILES = ("jetson-agx-orin-64gb", "rk3588")
CHECK_GOAL_S = 2.5
POLL_GOAL = 0.10


def boards(home: Home, count: int, delay_s: float) -> list[Device]:
    """Start the boards and return their devices."""
    devices = []
    for number in range(count):
        profile = PROFILES[number % len(PROFILES)]
        device = Device(name=f"board-{number}", profile=profile, backend="llvm", simulated=True)
        place = launcher.ensure_running(home.root / "simulated", device.name, profile)
        faults.write(Path(place.root), Faults(delay_s=delay_s))
        devices.append(device)
    return devices


async def check_all(devices: list[Device], home: Home) -> tuple[float, list[float]]:
    """Return the wall time of checking all at once, and of each check after its link was up, in seconds."""
    after_connect_s = []

    async def check(device: Device) -> None:
        async with open_board(device, home) as board:
            began_s = time.monotonic()
            report, state = await board.check()
            after_connect_s.append(time.monotonic() - began_s)
            assert state is not None, report.reasons

    began_s = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for device in devices:
            group.create_task(check(device))
    return time.monotonic() - began_s, after_connect_s


async def poll_all(devices: list[Device], home: Home, seconds: float) -> tuple[float, float]:
    """Return the share of a core that polling costs this process, and looks a second and board."""
    looks: dict[str, set[float]] = {device.name: set() for device in devices}
    all_seen = asyncio.Event()

    def publish(view: BoardView) -> None:
        if view.state is not None:
            looks[view.device].add(view.state.read_s)
        if all(looks.values()):
            all_seen.set()

    keepers = [
        BoardKeeper(
            device.name, functools.partial(open_board, device, home), publish, lambda name, since_s: 0
        )
        for device in devices
    ]
    tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
    # Connecting is done once; what counts is what goes on for hours.
    await all_seen.wait()
    for seen in looks.values():
        seen.clear()
    began_s, cpu_s = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    share = (time.process_time() - cpu_s) / (time.monotonic() - began_s)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return share, statistics.mean(len(seen) for seen in looks.values()) / seconds


def main() -> None:
    """Print both numbers beside their goals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--boards", type=int, default=8)
    parser.add_argument("--delay-ms", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        try:
            devices = boards(home, options.boards, options.delay_ms / 1e3)
            walls = [asyncio.run(check_all(devices, home)) for _ in range(3)]
            wall_s, each_s = statistics.median(wall for wall, _ in walls), walls[-1][1]
            print(f"boards {options.boards}, delay {options.delay_ms:g} ms; simulated, on loopback")
            verdict = "met" if wall_s <= CHECK_GOAL_S else "MISSED"
            print(f"check of all at once   {wall_s:.2f} s (goal {CHECK_GOAL_S:g} s for 8 boards: {verdict})")
            print(f"one check, link up     {statistics.median(each_s):.2f} s, two round trips")
            share, rate = asyncio.run(poll_all(devices, home, options.seconds))
            verdict = "met" if share <= POLL_GOAL else "MISSED"
            print(
                f"polling at 1 Hz        {share:.1%} of a core (goal {POLL_GOAL:.0%} for 8 boards: {verdict})"
            )
            print(f"looks a second, board  {rate:.2f}")
        finally:
            launcher.stop(home.root / "simulated")


if __name__ == "__main__":
    main()
