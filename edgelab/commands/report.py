"""`edgelab report`: the metrics of the EdgeKernelBench protocol over what the store holds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import click
import msgspec

from edgelab.bench.report.csv_rows import comparison_csv, instances_csv, summary_csv
from edgelab.bench.report.instances import ReportRequest
from edgelab.bench.report.view import SCHEMA, ReportView, read_comparison, read_report
from edgelab.bench.tasks import Catalogue, catalogue_root
from edgelab.commands.context import Session, pass_session, reporting
from edgelab.commands.report_table import comparison_text, instances_text, report_text
from edgelab.commands.since import Since
from edgelab.errors import UsageError

Format = Literal["table", "json", "csv", "html"]


@click.command()
@click.option(
    "--format",
    "chosen",
    type=click.Choice(["table", "json", "csv", "html"]),
    help="How to print it (default: table).",
)
@click.option("--device", "devices", multiple=True, help="Only this device; can be repeated.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(["llvm", "cuda", "opencl"]),
    help="Only this backend; can be repeated.",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.IntRange(0, 3),
    help="Only this level; can be repeated. 0: outside the suite.",
)
@click.option("--task", metavar="GLOB", default="", help="Only tasks whose name matches, such as 'conv2d_*'.")
@click.option("--since", type=Since(), help="Only runs made since 2026-12-01, or in the last 12h or 7d.")
@click.option("--compare", nargs=2, metavar="RUN_A RUN_B", help="Put two runs side by side instead.")
@click.option(
    "--instances", is_flag=True, help="table, csv: a line for each instance instead of the summary."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="File to write, also over one that is there (default: stdout).",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@pass_session
def report(
    session: Session,
    chosen: Format | None,
    devices: tuple[str, ...],
    backends: tuple[str, ...],
    levels: tuple[int, ...],
    task: str,
    since: float | None,
    compare: tuple[str, str] | None,
    instances: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Report what was measured: compiled, correct, Fast@p, geometric means, failures, memory.

    Shares are over all instances of the selection, also those never run (missing). Failures of devices
    are not counted against a program. docs/report.md says what each number means.
    """
    request = ReportRequest(devices=devices, backends=backends, levels=levels, task=task, since_s=since)
    with reporting(session, as_json=as_json or chosen == "json", schema=SCHEMA):
        form: Format = "json" if as_json else chosen or "table"
        _refuse_contradictions(form, chosen, request, compared=bool(compare), instances=instances)
        specs = Catalogue.load(catalogue_root()).specs
        database, now_s = session.home.database, time.time()
        if compare:
            view = read_comparison(database, specs, *compare, now_s)
        else:
            view = read_report(database, specs, request, now_s)
        _deliver(rendered(view, form, instances=instances), output)
        if not (view.rows or view.comparison):
            advice = "" if request == ReportRequest() else " that the filters let through"
            click.echo(f"No result yet{advice}. Make one with: edgelab run TASK", err=True)


def _refuse_contradictions(
    form: Format, chosen: Format | None, request: ReportRequest, *, compared: bool, instances: bool
) -> None:
    if chosen not in (None, form):
        raise UsageError(f"--json and --format {chosen} ask for two formats.", advice="Leave one out.")
    if compared and (request != ReportRequest() or instances):
        raise UsageError("--compare names its two runs.", advice="Leave the filters and --instances out.")
    if instances and form not in ("table", "csv"):
        raise UsageError(f"{form} has every instance as it is.", advice="Leave --instances out.")


def rendered(view: ReportView, form: Format, *, instances: bool = False) -> str:
    """Return the report in one of the formats."""
    match form:
        case "json":
            return msgspec.json.encode(view).decode()
        case "csv" if view.comparison:
            return comparison_csv(view.comparison.rows)
        case "csv":
            return instances_csv(view) if instances else summary_csv(view)
        case "html":
            # Only who asks for a page pays for the import of jinja2.
            from edgelab.bench.report.page import page

            return page(view)
        case "table" if view.comparison:
            return comparison_text(view.comparison)
        case "table":
            return instances_text(view) if instances else report_text(view)


def _deliver(text: str, output: Path | None) -> None:
    ended = text if text.endswith("\n") or not text else f"{text}\n"
    if output is None:
        click.echo(ended, nl=False)
        return
    try:
        output.write_text(ended, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"Cannot write {output}: {error.strerror}.", advice="Choose another file with --output."
        ) from error
    click.echo(f"Wrote {output}", err=True)
