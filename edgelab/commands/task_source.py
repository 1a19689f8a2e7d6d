"""`edgelab tasks source`: the target source of a task's program, to edit and run again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from edgelab.bench.target_source import target_source
from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.errors import UsageError
from edgelab.lab import inventory
from edgelab.runs.build_target import build_target
from edgelab.runs.candidate_file import read_candidate


@click.command("source")
@click.argument("name")
@click.option("--device", default="local", show_default=True, help="A device of the lab.")
@click.option(
    "--backend",
    type=click.Choice(["llvm", "cuda", "opencl"]),
    help="What to translate to (default: the device's own backend).",
)
@click.option(
    "--candidate",
    type=click.Path(path_type=Path),
    help="TVMScript file to translate (default: the task's own import).",
)
@click.option("--output", type=click.Path(path_type=Path), help="File to write (default: standard output).")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@pass_session
def task_source(
    session: Session,
    name: str,
    device: str,
    backend: str | None,
    candidate: Path | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write the LLVM IR, CUDA C++ or OpenCL C of task NAME's program: where an edit of level 2 starts from."""
    with reporting(session):
        spec = resolve(name, Catalogue.load(catalogue_root()))
        if output is not None and output.exists() and not force:
            raise UsageError(f"{output} is there already.", advice="--force writes over it.")
        found = inventory.find(device, inventory.lab_devices(session.lab))
        chosen = backend or found.backend
        work = target_source(
            spec,
            session.home.ensure().cache,
            target=build_target(found, chosen),
            candidate_text=read_candidate(candidate) if candidate else None,
            on_log=lambda text: click.echo(text, err=True),
        )
        source = asyncio.run(work)
        if output is None:
            click.echo(source.text, nl=False)
            return
        try:
            output.write_text(source.text)
        except OSError as error:
            raise UsageError(f"Cannot write {output}: {error.strerror}.") from error
        more = "".join(
            f" --{option} {value}"
            for option, value in (("device", device), ("backend", chosen), ("candidate", candidate))
            if value
        )
        click.echo(f"Wrote {output}; judge it with: edgelab run {name}{more} --source {output}", err=True)
