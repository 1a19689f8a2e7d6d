"""A report as one HTML file that needs nothing else: style and drawings are inside, scripts there are none."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Iterable, Iterator

import jinja2
import msgspec
from markupsafe import Markup

from edgelab import __version__
from edgelab.bench.metrics.instance import Instance
from edgelab.bench.metrics.pareto import ParetoPoint
from edgelab.bench.report import tables
from edgelab.bench.report.charts.failure_chart import failure_chart
from edgelab.bench.report.charts.fast_chart import fast_chart
from edgelab.bench.report.charts.pareto_chart import pareto_chart
from edgelab.bench.report.charts.speedup_chart import speedup_chart
from edgelab.bench.report.tables import Table
from edgelab.bench.report.view import ReportView
from edgelab.quantities import moment


class Chart(msgspec.Struct, frozen=True):
    """A drawing with its heading, and the same numbers as a table where the drawing leaves some out."""

    heading: str
    drawing: Markup
    table: Table | None = None


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What is said about physical devices, or about simulated boards."""

    simulated: bool
    heading: str
    counts: Table
    speeds: Table
    fast: Markup | None
    speedups: tuple[Chart, ...]
    failures: Chart | None
    pareto: tuple[Chart, ...]
    instances: Table


def page(view: ReportView) -> str:
    """Return the HTML text. Everything that comes from tasks, runs and devices is escaped."""
    comparison = view.comparison
    return _template().render(
        version=__version__,
        made=moment(view.made_s),
        filters=_filters(view),
        shares=tables.SHARES,
        sections=[section for kind in (False, True) if (section := _section(view, kind)) is not None],
        comparison=tables.comparison_table(comparison) if comparison else None,
        notes=tables.comparison_notes(comparison) if comparison else (),
    )


@functools.cache
def _template() -> jinja2.Template:
    source = (
        importlib.resources.files("edgelab.bench.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    )
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)


def _filters(view: ReportView) -> list[tuple[str, str]]:
    request = view.request
    found = [
        ("device", ", ".join(request.devices)),
        ("backend", ", ".join(request.backends)),
        ("level", ", ".join(map(tables.level_word, request.levels))),
        ("task", request.task),
        ("since", moment(request.since_s) if request.since_s is not None else ""),
    ]
    return [(name, value) for name, value in found if value]


def _section(view: ReportView, simulated: bool) -> Section | None:
    counts = tables.count_table(view, simulated=simulated)
    if not counts.rows:
        return None
    curves = [curve for curve in view.curves if curve.simulated is simulated]
    failures = [row for row in view.failures if row.simulated is simulated and row.failed]
    failed = tables.failure_table(view, simulated=simulated)
    return Section(
        simulated=simulated,
        heading=tables.SIMULATED if simulated else tables.PHYSICAL,
        counts=counts,
        speeds=tables.speed_table(view, simulated=simulated),
        fast=fast_chart(curves) if curves else None,
        speedups=tuple(_speedups(one for one in view.instances if one.simulated is simulated)),
        failures=Chart("Failures", failure_chart(failures), failed) if failures else None,
        pareto=tuple(_pareto(point for point in view.pareto if point.simulated is simulated)),
        instances=tables.instance_table(view, simulated=simulated),
    )


def _speedups(instances: Iterable[Instance]) -> Iterator[Chart]:
    groups: dict[str, list[Instance]] = {}
    for one in instances:
        if one.timed:
            heading = f"{one.device}, {one.backend}: {one.method} over {one.baseline_kind}"
            groups.setdefault(heading, []).append(one)
    for heading, group in groups.items():
        yield Chart(heading, speedup_chart(group, f"Speed-up of each task: {heading}"))


def _pareto(points: Iterable[ParetoPoint]) -> Iterator[Chart]:
    groups: dict[str, list[ParetoPoint]] = {}
    for point in points:
        groups.setdefault(f"{point.device}, {point.backend}", []).append(point)
    for heading, group in groups.items():
        drawn = pareto_chart(group, f"Latency against peak memory: {heading}")
        yield Chart(heading, drawn, tables.pareto_table(group))
