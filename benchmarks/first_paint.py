"""How long until `edgelab` paints? Goal: 0.8 s warm, with neither torch, tvm nor asyncssh imported before.

Runs the real app in a pseudo-terminal and measures from the start of the process to the first full
frame (the byte after which the screen's footer has been drawn).

    python benchmarks/first_paint.py [--runs 7]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

GOAL_S = 0.8
_HEAVY = ("torch", "tvm", "asyncssh")
_LIMIT_S = 20.0


def first_paint_s(home: str, marker: bytes) -> float:
    """Start the app on `home` in a 120x40 terminal; return seconds until `marker` appears in its output."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    begin_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "edgelab", "--home", home],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )
    os.close(slave)
    seen = b""
    try:
        while marker not in seen:
            if time.monotonic() - begin_s > _LIMIT_S:
                raise SystemExit(f"no {marker!r} within {_LIMIT_S} s; the app said: {seen[-500:]!r}")
            if select.select([master], [], [], 0.05)[0]:
                seen += os.read(master, 65536)
        return time.monotonic() - begin_s
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)


def heavy_imports() -> list[str]:
    """Return which heavy packages importing the app pulls in."""
    code = f"import sys, edgelab.app; sys.stdout.write(' '.join(m for m in {_HEAVY} if m in sys.modules))"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def main() -> int:
    """Print the measurement beside its goal; status 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        first_paint_s(home, b"Results")
        times = [first_paint_s(home, b"Results") for _ in range(arguments.runs)]
    heavy = heavy_imports()
    median = statistics.median(times)
    print(f"first paint, warm, median of {len(times)}: {median:.3f} s  (min {min(times):.3f}, max {max(times):.3f})")
    print(f"heavy imports before it: {', '.join(heavy) or 'none'}")
    passed = median <= GOAL_S and not heavy
    print(f"goal <= {GOAL_S} s and none of {', '.join(_HEAVY)}: {'PASS' if passed else 'MISS'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
