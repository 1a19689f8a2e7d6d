"""`edgelab runs`: list, show, attach to, stop and resume runs."""

from __future__ import annotations

import time

import click
import msgspec

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.following import end_interrupted, follow, follow_or_stop
from edgelab.commands.run import show_result
from edgelab.commands.wording import Stream, result_text
from edgelab.quantities import speedup
from edgelab.runs import control, launch
from edgelab.store.reader import StoreReader
from edgelab.store.records import RunRecord
from edgelab.visible_text import visible

_SHOWN_EVENTS = 200


@click.group()
def runs() -> None:
    """Runs, past and present. RUN is an id, the beginning of one, or `last`."""


@runs.command("list")
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1), help="How many, newest first."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def list_runs(session: Session, limit: int, as_json: bool) -> None:
    """List runs, newest first."""
    with (
        reporting(session, as_json=as_json, schema="edgelab.runs/1"),
        StoreReader(session.home.database) as reader,
    ):
        found = [_with_real_state(session, run) for run in reader.runs(limit)]
        if as_json:
            click.echo(msgspec.json.encode({"schema": "edgelab.runs/1", "runs": found}).decode())
            return
        for run in found:
            click.echo(_line(run))
        if not found:
            click.echo("No run yet. Start one with: edgelab run TASK", err=True)


def _with_real_state(session: Session, run: RunRecord) -> RunRecord:
    return msgspec.structs.replace(run, state=control.state(session.home, run))


def _line(run: RunRecord) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.created_s))
    verdict = run.result.verdict if run.result else "tuning" if run.kind == "tune" else ""
    ratio = speedup(run.result.speedup) if run.result and run.result.speedup else ""
    return visible(
        f"{run.id}  {when}  {run.state:<11} {verdict:<9} {ratio:<8} {run.device:<8} {run.task}".rstrip()
    )


@runs.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def show_run(session: Session, run: str, as_json: bool) -> None:
    """Show RUN: its steps, its newest events and its verdict."""
    with (
        reporting(session, as_json=as_json, schema="edgelab.runs/1"),
        StoreReader(session.home.database) as reader,
    ):
        record = _with_real_state(session, reader.find_run(run))
        if as_json:
            report = {"schema": "edgelab.runs/1", "run": record, "steps": reader.steps(record.id)}
            click.echo(msgspec.json.encode(report).decode())
            return
        click.echo(_line(record))
        stream = Stream()
        for event in reader.events_tail(record.id, _SHOWN_EVENTS):
            if (line := stream.line(event)) is not None:
                click.echo(line)
        if record.result is not None:
            click.echo(f"\n{result_text(record.result)}")
        elif record.kind == "run" and record.state in ("lost", "interrupted"):
            click.echo(f"\nNo verdict. Go on with: edgelab runs resume {record.id}", err=True)


@runs.command("attach")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object.")
@pass_session
def attach(session: Session, run: str, as_json: bool) -> None:
    """Follow RUN until its verdict; ctrl-c leaves it running."""
    with reporting(session, as_json=as_json, schema="edgelab.run/1"):
        with StoreReader(session.home.database) as reader:
            record = reader.find_run(run)
        run_id = record.id
        try:
            result = follow(session.home, run_id, lambda line: click.echo(line, err=True))
        except KeyboardInterrupt:
            click.echo(f"\nDetached; run {run_id} goes on.", err=True)
            return
        if result is None and record.kind == "tune":
            return
        if result is None:
            end_interrupted(run_id, as_json=as_json)
        show_result(result, as_json=as_json)


@runs.command("stop")
@click.argument("run")
@pass_session
def stop(session: Session, run: str) -> None:
    """Stop RUN; what it recorded stays, and it can be resumed."""
    with reporting(session):
        with StoreReader(session.home.database) as reader:
            run_id = reader.find_run(run).id
        control.stop(session.home, run_id)
        click.echo(f"Run {run_id} is stopped.", err=True)


@runs.command("resume")
@click.argument("run")
@click.option("--detach", is_flag=True, help="Start it and return.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object.")
@pass_session
def resume(session: Session, run: str, detach: bool, as_json: bool) -> None:
    """Go on with RUN, which was interrupted or whose process was killed."""
    with reporting(session, as_json=as_json, schema="edgelab.run/1"):
        with StoreReader(session.home.database) as reader:
            run_id = reader.find_run(run).id
            after = reader.last_event_id()
        launch.resume(session.home, run_id)
        if detach:
            click.echo(run_id)
            return
        result = follow_or_stop(
            session.home, run_id, lambda line: click.echo(line, err=True), after=after, as_json=as_json
        )
        show_result(result, as_json=as_json)
