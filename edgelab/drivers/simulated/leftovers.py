"""Ends what still runs on a board when it is switched off, also when the process that serves it is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from edgelab.drivers.simulated.environment import POWER

_ROUNDS = 20
"""A process may start another one between being found and being killed."""

# Ends by itself when the serving process closes its end of the pipe, which the kernel does for a killed one.
_AFTERWARDS = r"""
IFS= read -r told
[ "$told" != done ] || exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
    # Its exit status also tells of processes that ended meanwhile.
    found=$(grep -lzs -e "^$1=$2" /proc/[0-9]*/environ); [ -n "$found" ] || exit 0
    for file in $found; do pid=${file#/proc/}; kill -s KILL "${pid%/environ}" 2>/dev/null; done
done
"""


def end_all(power: str) -> None:
    """Kill every process that was started on a board while it was switched on under the mark `power`."""
    mark = f"{POWER}={power}\0".encode()
    for _ in range(_ROUNDS):
        if not (found := _marked(mark)):
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _marked(mark: bytes) -> list[int]:
    found = []
    for folder in os.scandir("/proc"):
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            if mark in b"\0" + Path(f"/proc/{folder.name}/environ").read_bytes():
                found.append(int(folder.name))
    return found


class Afterwards:
    """A small shell that outlives a killed server just long enough to end what ran on its boards.

    `power` is what the marks of all its boards begin with.
    """

    def __init__(self, power: str) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _AFTERWARDS, "sh", POWER, power],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Send it away: the server has ended its boards itself."""
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.write(b"done\n")
            self._shell.stdin.close()
        self._shell.wait()
