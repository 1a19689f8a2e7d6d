"""The command line as a person runs it: a process, a home of its own, and its run as JSON."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from edgelab.home import Home
from edgelab.store.reader import StoreReader

_POLL_S = 0.01
LIMIT_S = 120.0


class Cli:
    """Calls `edgelab` on one home."""

    def __init__(self, home: Path) -> None:
        self.home = Home(home)

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start a command without waiting for it."""
        return subprocess.Popen(
            [sys.executable, "-m", "edgelab", "--home", str(self.home.root), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*args)
        stdout, stderr = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(args, process.returncode, stdout, stderr)

    def run_json(self, *args: str) -> tuple[int, dict[str, Any]]:
        """Run `edgelab run ... --json`; return its status and its object."""
        done = self("run", *args, "--json")
        return done.returncode, msgspec.json.decode(done.stdout)

    def reader(self) -> StoreReader:
        """Return a reader of the home's store."""
        return StoreReader(self.home.database)

    def wait_for_event(self, kind: str, **fields: Any) -> str:
        """Wait until some run has an event of this kind with these fields; return the run's id."""

        def find() -> str | None:
            with self.reader() as reader:
                for event in reader.events_after(0):
                    body = msgspec.to_builtins(event.body)
                    if body["kind"] == kind and fields.items() <= body.items():
                        return event.run
            return None

        return wait_for(find)


def wait_for(find: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """Poll until `find` returns something true; fails after `limit_s`."""
    end_s = time.monotonic() + limit_s
    while not (found := find()):
        assert time.monotonic() < end_s, f"{find} found nothing within {limit_s} s"
        time.sleep(_POLL_S)
    return found


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Press ctrl-c; return the status and what it said on stderr."""
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=LIMIT_S)
    return process.returncode, stderr


def processes_of(home: Path) -> list[int]:
    """Return the processes whose command line names this home: run processes and workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if str(home).encode() in line:
            found.append(int(path.parent.name))
    return found
