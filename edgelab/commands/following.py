"""Follow a run from its first event to its verdict, as the reader that every terminal is."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import NoReturn

import click

from edgelab.commands.context import error_object
from edgelab.commands.wording import Stream
from edgelab.errors import ExitCode, RunLost
from edgelab.events import RunFinished, RunInterrupted
from edgelab.home import Home
from edgelab.results import RunResult
from edgelab.runs import control
from edgelab.runs.folder import RunFolder
from edgelab.store.reader import StoreReader
from edgelab.visible_text import visible_block

_POLL_S = 0.05
_LOG_TAIL_LINES = 15


def follow(home: Home, run_id: str, show: Callable[[str], None], *, after: int = 0) -> RunResult | None:
    """Show a run's events until it ends; returns its verdict, None when it has none: interrupted, or a tuning.

    Raises `RunLost` when the run's process died without a verdict.
    """
    stream = Stream()
    with StoreReader(home.database) as reader:
        while True:
            # Liveness is asked before the events: what was written before death is then still read.
            gone = not control.is_alive(home, run_id)
            events = reader.events_after(after, run=run_id)
            for event in events:
                after = event.id
                if (line := stream.line(event)) is not None:
                    show(line)
                if isinstance(event.body, RunInterrupted):
                    return None
                if isinstance(event.body, RunFinished):
                    return event.body.result
            if gone and not events:
                if (record := reader.run(run_id)) is not None and record.kind == "tune":
                    return None
                raise _lost(home, run_id)
            if not events:
                time.sleep(_POLL_S)


def _lost(home: Home, run_id: str) -> RunLost:
    log = RunFolder(home, run_id).log
    try:
        tail = log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
    except OSError:
        tail = []
    said = f" Its last words ({log}):\n{visible_block(chr(10).join(tail))}\n" if tail else ""
    return RunLost(
        f"The process of run {run_id} ended without a verdict.{said}",
        advice=f"Go on with `edgelab runs resume {run_id}`.",
    )


def follow_or_stop(
    home: Home, run_id: str, show: Callable[[str], None], *, after: int = 0, as_json: bool = False
) -> RunResult:
    """Follow a run that this command started; ctrl-c (or SIGTERM) stops the run, which stays resumable.

    Raises `click.exceptions.Exit` with status 4 after an interruption.
    """
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        result = follow(home, run_id, show, after=after)
    except KeyboardInterrupt:
        click.echo("\nStopping the run ...", err=True)
        if control.is_alive(home, run_id):
            control.stop(home, run_id)
        result = None
    if result is None:
        end_interrupted(run_id, as_json=as_json)
    return result


def end_interrupted(run_id: str, *, as_json: bool) -> NoReturn:
    """Say that the run was interrupted and how to go on; end with status 4."""
    message, advice = f"Run {run_id} was interrupted.", f"Go on with: edgelab runs resume {run_id}"
    if as_json:
        click.echo(error_object("edgelab.run/1", message, advice, run=run_id))
    click.echo(f"{message} {advice}", err=True)
    raise click.exceptions.Exit(int(ExitCode.INTERRUPTED))


def exit_with(result: RunResult) -> None:
    """End the command with the status of `result`."""
    if result.exit_code is not ExitCode.DONE:
        raise click.exceptions.Exit(int(result.exit_code))
