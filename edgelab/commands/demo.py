"""`edgelab demo`: the app on the built-in lab with one real run started."""

from __future__ import annotations

import sys

import click

from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.following import follow_or_stop
from edgelab.commands.run import show_result
from edgelab.lab import inventory
from edgelab.runs.launch import launch
from edgelab.runs.spec import RunSpec

DEMO_TASK = "ir_mnv2_res_24"


@click.command()
@click.option("--headless", is_flag=True, help="Stream the run as text and end with its result.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --headless: print the verdict as one JSON object."
)
@pass_session
def demo(session: Session, headless: bool, as_json: bool) -> None:
    """Start one real run on this machine and watch it, in the app or as text."""
    with reporting(session, as_json=as_json, schema="edgelab.run/1"):
        task = resolve(DEMO_TASK, Catalogue.load(catalogue_root()))
        device = inventory.find("local", inventory.built_in())
        run_id = launch(
            session.home, RunSpec(task=task.name, device=device.name, backend=device.backend), task
        )
        if headless or not (sys.stdin.isatty() and sys.stdout.isatty()):
            result = follow_or_stop(
                session.home, run_id, lambda line: click.echo(line, err=True), as_json=as_json
            )
            show_result(result, as_json=as_json)
            return
        from edgelab.app import run_app

        run_app(session.home, watch=run_id)
