"""`edgelab run`: one task on one device, from PyTorch to a judged measurement."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.following import exit_with, follow_or_stop
from edgelab.commands.wording import result_text
from edgelab.lab import inventory
from edgelab.results import RunResult
from edgelab.runs.candidate_file import read_candidate
from edgelab.runs.launch import launch
from edgelab.runs.spec import RunSpec


@click.command()
@click.argument("task")
@click.option("--device", default="local", show_default=True, help="A device of the lab.")
@click.option(
    "--candidate",
    type=click.Path(path_type=Path),
    help="TVMScript file to judge (default: the task's own import).",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Edited target source to judge, as `edgelab tasks source` wrote it.",
)
@click.option(
    "--baseline",
    type=click.Choice(["plain", "tuned"]),
    default="plain",
    show_default=True,
    help="What to compare with; tuned needs `edgelab tune` first.",
)
@click.option(
    "--backend",
    type=click.Choice(["llvm", "cuda", "opencl"]),
    help="What to build for (default: the device's own backend).",
)
@click.option("--detach", is_flag=True, help="Start the run, print its id and return.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON object.")
@pass_session
def run(
    session: Session,
    task: str,
    device: str,
    candidate: Path | None,
    source: Path | None,
    baseline: str,
    backend: str | None,
    detach: bool,
    as_json: bool,
) -> None:
    """Build, verify and time TASK (a task name or a KernelBench-style FILE.py).

    The run goes on when this terminal closes; ctrl-c stops it. Exit status: 0 measured, 1 the candidate
    failed, 2 unknown task or device, 3 the device gave no stable or no measurement, 4 interrupted.
    """
    with reporting(session, as_json=as_json, schema="edgelab.run/1"):
        spec = resolve(task, Catalogue.load(catalogue_root()))
        found = inventory.find(device, inventory.lab_devices(session.lab))
        request = RunSpec(
            task=str(spec.path) if spec.level == 0 else spec.name,
            device=found.name,
            entry=found,
            backend=backend or found.backend,
            simulated=found.simulated,
            candidate_text=read_candidate(candidate) if candidate else None,
            candidate_path=str(candidate.absolute()) if candidate else "",
            source_text=read_candidate(source, "source") if source else None,
            source_path=str(source.absolute()) if source else "",
            baseline_kind=baseline,
        )
        run_id = launch(session.home, request, spec)
        if detach:
            click.echo(f'{{"schema":"edgelab.run/1","run":"{run_id}"}}' if as_json else run_id)
            return
        click.echo(f"Run {run_id}; watch it elsewhere with: edgelab runs attach {run_id}", err=True)
        result = follow_or_stop(
            session.home, run_id, lambda line: click.echo(line, err=True), as_json=as_json
        )
        show_result(result, as_json=as_json)


def show_result(result: RunResult, *, as_json: bool) -> None:
    """Print the verdict on stdout and end with its status."""
    click.echo(msgspec.json.encode(result).decode() if as_json else result_text(result))
    exit_with(result)
