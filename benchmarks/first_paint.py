"""How long until `edgelab` has painted its first screen? Beside it: a bare Textual app, for the ratio.

Usage: python benchmarks/first_paint.py [--repeats N]. The first start of each is not counted (cold caches).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time

GOAL_S = 0.8
_LIMIT_S = 20.0

_BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("painted")
Bare().run()
"""


def time_to_paint_s(arguments: list[str], shows: bytes, home: str) -> float:
    """Start a program in a pty and return the time until it has painted `shows`. Raises TimeoutError."""
    environment = {**os.environ, "EDGELAB_HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    began_s = time.monotonic()
    pid, screen = pty.fork()
    if pid == 0:
        os.execve(arguments[0], arguments, environment)
    try:
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        seen = b""
        while shows not in seen:
            if time.monotonic() - began_s > _LIMIT_S:
                raise TimeoutError(f"{arguments} did not paint {shows!r}")
            if select.select([screen], [], [], 0.5)[0]:
                seen += os.read(screen, 1 << 16)
        return time.monotonic() - began_s
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(screen)


def main() -> int:
    """Print the medians side by side; return 1 if the goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    app = [sys.executable, "-m", "edgelab"]
    bare = [sys.executable, "-c", _BARE]
    with tempfile.TemporaryDirectory(prefix="edgelab-paint-") as home:
        times = [
            (time_to_paint_s(app, b"choose a task", home), time_to_paint_s(bare, b"painted", home))
            for _ in range(repeats + 1)
        ][1:]
    app_s, bare_s = (statistics.median(column) for column in zip(*times, strict=True))
    worst_s = max(first for first, _ in times)
    word = "PASS" if app_s <= GOAL_S else "MISS"
    print(f"{word}  first paint {app_s:.2f} s (worst of {repeats}: {worst_s:.2f} s); goal <= {GOAL_S} s")
    print(f"      bare Textual app {bare_s:.2f} s, ratio {app_s / bare_s:.2f}")
    return 0 if app_s <= GOAL_S else 1


if __name__ == "__main__":
    raise SystemExit(main())
