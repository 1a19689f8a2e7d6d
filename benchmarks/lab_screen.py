"""Does the Lab screen stay quick with 32 boards? A stand-in for the monitor sends a look at each once a second.

The real app runs in a pty beside it. Measured: key-to-paint p95 while the cursor moves, and the processor share
of the app with nobody at the keys. Usage: python benchmarks/lab_screen.py [--boards N] [--seconds S]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from pty_app import PtyApp

COLUMNS, ROWS = 160, 48
KEY_GOAL_MS = 100.0
CPU_GOAL_SHARE = 0.15
_NEVER_S = 2.0
"""What a key counts whose effect was not painted."""

_FEEDER = """
import sys, time, msgspec
from edgelab.drivers.check import Check, CheckReport, Evidence
from edgelab.drivers.device_state import ClockDomain, DeviceState, PowerMode, Temperature
from edgelab.lab.board_view import BoardView
from edgelab.lab.monitor_messages import Seen

names = sys.argv[1:]

def clock(kind, name, hz):
    steps = tuple(int(hz * part / 10) for part in range(1, 11))
    return ClockDomain(name=name, kind=kind, current_hz=hz, min_hz=hz, max_hz=hz, available_hz=steps,
                       governor="schedutil", governors=("schedutil", "userspace"), source="/sys/class/devfreq/" + name)

def look(number, tick):
    now_s = time.time()
    evidence = tuple((field, Evidence("/proc/" + field, "0.05 0.05 0.05 1/321 4242", now_s))
                     for field in ("load", "memory", "disk", "lease", "power_mode", "throttling"))
    return DeviceState(read_s=now_s, round_trip_s=0.04, model="NVIDIA Jetson AGX Orin", cores=12,
                       power_mode=PowerMode("MAXN", 0),
                       clocks=(clock("gpu", "17000000.gpu", 1_300_500_000 - tick % 7 * 1_000_000),
                               *(clock("cpu", f"policy{core}", 2_201_600_000) for core in (0, 4, 8))),
                       temperatures=(Temperature("tj-thermal", 40.0 + (number + tick) % 20),),
                       throttle_counts=(("oc1", 0), ("oc2", 0), ("oc3", tick)), load_1min=0.01 * (tick % 90),
                       memory_total_bytes=64 << 30, memory_available_bytes=(53 << 30) + tick, lease_free=True,
                       disk_total_bytes=58 << 30, disk_free_bytes=38 << 30, evidence=evidence)

checks = tuple(Check(name=name, ok=True, value="fine", wanted="fine") for name in "abcdefghijklm")
encoder, tick, began_s = msgspec.json.Encoder(), 0, time.monotonic()
while True:
    tick += 1
    for number, name in enumerate(names):
        view = BoardView(device=name, link="up", state=look(number, tick), lock_state="locked",
                         gpu_target_hz=1_300_500_000, check=CheckReport(device=name, checks=checks, checked_s=1.0))
        sys.stdout.buffer.write(encoder.encode(Seen(view=view)) + b"\\n")
        sys.stdout.buffer.flush()
        time.sleep(max(began_s + tick - 1 + (number + 1) / len(names) - time.monotonic(), 0))
"""

_APP = """
import sys
from pathlib import Path
from edgelab.app import EdgeLabApp
from edgelab.home import Home
from edgelab.screens.live_sources import LiveSources

home, lab, feeder, *names = sys.argv[1:]
sources = LiveSources(Home(Path(home)), Path(lab))
sources.boards._argv = [sys.executable, feeder, "local", *names]
EdgeLabApp(sources).run()
"""


def measure_keys(app: PtyApp, hosts: list[str], seconds: float) -> list[float]:
    """Move the cursor down and up again; the address of a board is in its detail alone."""
    times: list[float] = []
    at, step = 0, 1
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        step = -1 if at == len(hosts) - 1 else 1 if at == 0 else step
        at += step
        taken_s = app.key_to_paint_s(b"j" if step > 0 else b"k", hosts[at].encode())
        times.append(_NEVER_S if taken_s is None else taken_s)
        app.drain(0.13)
    return times


def measure(boards: int, seconds: float) -> tuple[list[float], float, float]:
    """Return key-to-paint times, the share of a core, and the kB painted a second."""
    names = [f"board-{number:02}" for number in range(1, boards)]
    hosts = [f"host-{number:02}.example" for number in range(1, boards)]
    with tempfile.TemporaryDirectory(prefix="edgelab-lab-") as folder:
        lab, feeder = Path(folder) / "lab.toml", Path(folder) / "feeder.py"
        feeder.write_text(_FEEDER)
        lab.write_text(
            "".join(
                f'[[device]]\nname = "{name}"\nprofile = "jetson-agx-orin-64gb"\nhost = "{host}"\n'
                for name, host in zip(names, hosts, strict=True)
            )
        )
        painted_bytes = 0

        def count(read: bytes) -> None:
            nonlocal painted_bytes
            painted_bytes += len(read)

        arguments = (folder, str(lab), str(feeder), *names)
        app = PtyApp(_APP, *arguments, size=(COLUMNS, ROWS), on_read=count)
        try:
            app.drain(8.0, names[0].encode())
            app.drain(3.0)
            app.key_to_paint_s(b"j", hosts[0].encode())
            app.drain(1.0)
            cpu_s, began_s, painted = app.cpu_s(), time.monotonic(), painted_bytes
            app.drain(seconds)
            took_s = time.monotonic() - began_s
            share = (app.cpu_s() - cpu_s) / took_s
            painted_kb_s = (painted_bytes - painted) / took_s / 1e3
            return measure_keys(app, hosts, seconds), share, painted_kb_s
        finally:
            app.close()


def main() -> int:
    """Print goals and results; return 1 if one was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=32, help="devices of the lab, this machine among them")
    parser.add_argument("--seconds", type=float, default=15.0, help="length of each part")
    options = parser.parse_args()
    times, share, painted_kb_s = measure(options.boards, options.seconds)
    p95_ms = statistics.quantiles(times, n=20)[-1] * 1e3
    median_ms = statistics.median(times) * 1e3
    results = (
        (
            f"key to paint p95 {p95_ms:.0f} ms (median {median_ms:.0f} ms, {len(times)} keys)",
            f"<= {KEY_GOAL_MS:.0f} ms",
            p95_ms <= KEY_GOAL_MS,
        ),
        (
            f"app takes {share * 100:.0f} % of a core and paints {painted_kb_s:.0f} kB/s",
            f"<= {CPU_GOAL_SHARE * 100:.0f} %",
            share <= CPU_GOAL_SHARE,
        ),
    )
    print(f"{options.boards} boards at 1 Hz, app in a {COLUMNS}x{ROWS} pty on the Lab")
    for said, goal, ok in results:
        print(f"  {'PASS' if ok else 'MISS'}  {said}; goal {goal}")
    return 0 if all(ok for _, _, ok in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
