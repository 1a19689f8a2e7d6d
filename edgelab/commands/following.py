"""Follow a run from its first event to its verdict, as the reader that every terminal is."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from edgelab.commands.wording import event_line
from edgelab.errors import ExitCode, NotReadyError
from edgelab.events import RunFinished, RunInterrupted, StoredEvent
from edgelab.home import Home
from edgelab.results import RunResult
from edgelab.runs import control
from edgelab.runs.folder import RunFolder
from edgelab.store.reader import StoreReader

_POLL_S = 0.05
_LOG_TAIL_LINES = 15


def follow(home: Home, run_id: str, show: Callable[[str], None], *, after: int = 0) -> RunResult | None:
    """Show a run's events until it ends; returns its verdict, None when it was interrupted.

    Raises `NotReadyError` when the run's process died without a verdict.
    """
    with StoreReader(home.database) as reader:
        while True:
            # Liveness is asked before the events: what was written before death is then still read.
            gone = not control.is_alive(home, run_id)
            events = reader.events_after(after, run=run_id)
            for event in events:
                after = event.id
                if (line := event_line(event.body)) is not None:
                    show(f"{_clock(event)} {line}")
                if isinstance(event.body, RunInterrupted):
                    return None
                if isinstance(event.body, RunFinished):
                    return event.body.result
            if gone and not events:
                raise _lost(home, run_id)
            if not events:
                time.sleep(_POLL_S)


def _clock(event: StoredEvent) -> str:
    return time.strftime("%H:%M:%S", time.localtime(event.time_s))


def _lost(home: Home, run_id: str) -> NotReadyError:
    log = RunFolder(home, run_id).log
    try:
        tail = log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
    except OSError:
        tail = []
    said = "\n".join(["", *tail]) if tail else " It left no log."
    return NotReadyError(
        f"The process of run {run_id} ended without a verdict; its log is {log}.{said}\n",
        advice=f"Go on with `edgelab runs resume {run_id}`.",
    )


def follow_or_stop(home: Home, run_id: str, show: Callable[[str], None], *, after: int = 0) -> RunResult:
    """Follow a run that this command started; ctrl-c stops the run, which stays resumable.

    Raises `click.exceptions.Exit` with status 4 after an interruption.
    """
    try:
        result = follow(home, run_id, show, after=after)
    except KeyboardInterrupt:
        click.echo("\nStopping the run ...", err=True)
        if control.is_alive(home, run_id):
            control.stop(home, run_id)
        result = None
    if result is None:
        click.echo(f"Run {run_id} was interrupted. Go on with: edgelab runs resume {run_id}", err=True)
        raise click.exceptions.Exit(int(ExitCode.INTERRUPTED))
    return result


def exit_with(result: RunResult) -> None:
    """End the command with the status of `result`."""
    if result.exit_code is not ExitCode.DONE:
        raise click.exceptions.Exit(int(result.exit_code))
