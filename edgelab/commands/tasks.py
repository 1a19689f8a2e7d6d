"""`edgelab tasks`: list the suite and show one task."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from edgelab.bench.reference import VERIFICATION_SEEDS, prepare
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.task_source import task_source
from edgelab.errors import UsageError


@click.group()
def tasks() -> None:
    """The tasks of the suite."""


@tasks.command("list")
@click.option("--level", type=click.IntRange(1, 3), help="Only this level.")
@click.option("--domain", type=click.Choice(["M", "E", "A"]), help="Mobile, embodied robotics, AIoT.")
@click.option("--backend", type=click.Choice(["llvm", "cuda", "opencl"]), help="Only tasks that count there.")
@click.option("--family", help="Only this family, such as conv2d.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def list_tasks(
    session: Session,
    level: int | None,
    domain: str | None,
    backend: str | None,
    family: str | None,
    as_json: bool,
) -> None:
    """List tasks, one a line: id, level, backends, family, name, title."""
    with reporting(session, as_json=as_json, schema="edgelab.tasks/1"):
        catalogue = Catalogue.load(catalogue_root())
        found = catalogue.filter(level=level, domain=domain, backend=backend, family=family)
        if as_json:
            rows = [_row(spec) for spec in found]
            click.echo(msgspec.json.encode({"schema": "edgelab.tasks/1", "tasks": rows}).decode())
            return
        rows = [
            (spec.id, f"L{spec.level}", ",".join(spec.backends), spec.family, spec.name) for spec in found
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for spec, row in zip(found, rows, strict=True):
            cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            click.echo(f"{cells}  {spec.title}")
        click.echo(f"{len(found)} of {len(catalogue.specs)} tasks", err=True)


@tasks.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def show_task(session: Session, name: str, as_json: bool) -> None:
    """Show task NAME: provenance, sizes and the PyTorch reference."""
    with reporting(session, as_json=as_json, schema="edgelab.task/1"):
        spec = resolve(name, Catalogue.load(catalogue_root()))
        if as_json:
            report = {"schema": "edgelab.task/1", **_row(spec), "source": spec.source()}
            click.echo(msgspec.json.encode(report).decode())
            return
        for key, value in _row(spec).items():
            if isinstance(value, dict):
                value = ", ".join(f"{name}={size}" for name, size in value.items())
            click.echo(f"{key:<16}{', '.join(value) if isinstance(value, tuple | list) else value}")
        click.echo(f"\n{spec.source()}")


@tasks.command("export")
@click.argument("name")
@click.option("--output", type=click.Path(path_type=Path), help="File to write (default: standard output).")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@pass_session
def export_task(session: Session, name: str, output: Path | None, force: bool) -> None:
    """Write task NAME's imported program as TVMScript: where a candidate starts from."""
    with reporting(session):
        spec = resolve(name, Catalogue.load(catalogue_root()))
        if output is not None and output.exists() and not force:
            raise UsageError(f"{output} is there already.", advice="--force writes over it.")
        cache = session.home.ensure().cache
        bundle = asyncio.run(
            prepare(spec, cache, seeds=VERIFICATION_SEEDS, on_log=lambda text: click.echo(text, err=True))
        )
        text = bundle.program_path.read_text()
        if output is None:
            click.echo(text, nl=False)
            return
        try:
            output.write_text(text)
        except OSError as error:
            raise UsageError(f"Cannot write {output}: {error.strerror}.") from error
        click.echo(f"Wrote {output}; judge it with: edgelab run {spec.name} --candidate {output}", err=True)


tasks.add_command(task_source)


def _row(spec: TaskSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "id": spec.id,
        "level": spec.level,
        "family": spec.family,
        "title": spec.title,
        "backends": spec.backends,
        "operator_class": spec.operator_class,
        "provenance": spec.provenance,
        "adapted": spec.adapted,
        "file": str(spec.path),
        "constants": dict(spec.constants),
    }
