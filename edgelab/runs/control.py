"""Stop a run from outside, and tell what state it is really in."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from edgelab.errors import NotReadyError, UsageError
from edgelab.events import RunInterrupted
from edgelab.home import Home
from edgelab.runs.folder import RunFolder
from edgelab.store.reader import StoreReader
from edgelab.store.records import RunRecord, RunState
from edgelab.store.writer import StoreWriter

_POLL_S = 0.02


def is_alive(home: Home, run_id: str) -> bool:
    """Whether the run's process lives (holds the flock on its folder)."""
    return RunFolder(home, run_id).is_alive()


def state(home: Home, run: RunRecord) -> RunState:
    """Return the state to show: `lost` for a run without an end whose process is gone."""
    if run.state == "done":
        return "done"
    if is_alive(home, run.id):
        return "running"
    return "interrupted" if run.state == "interrupted" else "lost"


def request_stop(home: Home, run_id: str) -> None:
    """Ask the run's process to stop; it records the interruption itself.

    Raises `UsageError` when the run is not alive.
    """
    folder = RunFolder(home, run_id)
    pid = folder.holder()
    if pid is None or not folder.is_alive():
        raise UsageError(f"Run {run_id} is not running.")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def stop(home: Home, run_id: str, *, time_limit_s: float = 10.0) -> None:
    """Stop the run and wait until its process is gone and its interruption is recorded.

    Raises `UsageError` when it is not alive and `NotReadyError` when it does not end in time.
    """
    request_stop(home, run_id)
    end_s = time.monotonic() + time_limit_s
    while is_alive(home, run_id):
        if time.monotonic() > end_s:
            raise NotReadyError(
                f"Run {run_id} (pid {RunFolder(home, run_id).holder()}) did not stop in {time_limit_s:.0f} s.",
                advice="Kill the process; `edgelab runs resume` continues it.",
            )
        time.sleep(_POLL_S)
    _record_interruption(home, run_id)


def _record_interruption(home: Home, run_id: str) -> None:
    """Record the interruption of a run that ended before its process could do so itself."""
    with StoreReader(home.database) as reader:
        record = reader.run(run_id)
    if record is None or record.state in ("done", "interrupted"):
        return
    with StoreWriter(home.database) as writer:
        writer.append(run_id, [RunInterrupted(reason="stopped before it began")])
        writer.update_run(run_id, "interrupted", finished_s=time.time())
