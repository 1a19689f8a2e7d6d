"""The report as one frozen object: what commands print and screens show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from edgelab.bench.metrics.failures import FailureRow, failure_rows
from edgelab.bench.metrics.instance import OUTSIDE_SUITE, Instance
from edgelab.bench.metrics.pareto import ParetoPoint, pareto_points
from edgelab.bench.metrics.shares import CurvePoint, fast_curve
from edgelab.bench.metrics.summary import SummaryRow, Totals, summary_rows, totals
from edgelab.bench.report.compare import Comparison, compare
from edgelab.bench.report.instances import ReportRequest, found_instances, with_missing
from edgelab.bench.task_template import TaskSpec
from edgelab.errors import UsageError
from edgelab.store.reader import StoreReader
from edgelab.store.selection import SelectedRun, Selection, newest_of_each

SCHEMA = "edgelab.report/1"


class FastCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Fast@p over p of one device, backend, method and baseline: a step function over `judged` instances."""

    simulated: bool
    device: str
    backend: str
    method: str
    baseline_kind: str
    judged: int
    points: tuple[CurvePoint, ...]


class ReportView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report says. `made_s` is when it was made (seconds since the epoch).

    `rows` are by device, backend, method, baseline kind and level. `instances` are the newest judged result
    of each, and the missing ones. `pareto` has every program that was measured, not only the newest.
    With a `comparison` everything else is empty.
    """

    schema: str = SCHEMA
    rows: tuple[SummaryRow, ...] = ()
    totals: Totals = Totals()
    failures: tuple[FailureRow, ...] = ()
    curves: tuple[FastCurve, ...] = ()
    pareto: tuple[ParetoPoint, ...] = ()
    instances: tuple[Instance, ...] = ()
    comparison: Comparison | None = None
    request: ReportRequest = ReportRequest()
    made_s: float


def view_of(
    found: Sequence[SelectedRun], specs: Sequence[TaskSpec], request: ReportRequest, made_s: float
) -> ReportView:
    """Return the report over the runs of a selection and the suite's tasks."""
    every = [instance for instance in found_instances(found, specs) if request.wants_level(instance.level)]
    newest = {one.run.id for one in newest_of_each(found)}
    instances = sorted(
        with_missing([instance for instance in every if instance.run in newest], specs, request), key=_order
    )
    return ReportView(
        rows=summary_rows(instances),
        totals=totals(instances),
        failures=failure_rows(instances),
        curves=_curves(instances),
        pareto=pareto_points(_newest_programs(every)),
        instances=tuple(instances),
        request=request,
        made_s=made_s,
    )


def read_report(
    database: Path, specs: Sequence[TaskSpec], request: ReportRequest, made_s: float
) -> ReportView:
    """Return the report over a store. Raises `NotReadyError` for a store that cannot be read."""
    with StoreReader(database) as reader:
        return view_of(reader.selected(request.selection), specs, request, made_s)


def view_of_runs(database: Path, specs: Sequence[TaskSpec], runs: Sequence[str], made_s: float) -> ReportView:
    """Return the report over certain runs: only tasks that they ran can be missing. Raises as `read_report`."""
    with StoreReader(database) as reader:
        found = reader.selected(Selection(runs=tuple(runs)))
    tasks = {one.run.task for one in found}
    return view_of(found, [spec for spec in specs if spec.name in tasks], ReportRequest(), made_s)


def read_comparison(
    database: Path, specs: Sequence[TaskSpec], first: str, second: str, made_s: float
) -> ReportView:
    """Return the comparison of two runs, each named as `edgelab runs show` takes it.

    Raises `UsageError` for a run that is not there, has no verdict yet, or is named twice, and
    `NotReadyError` as `read_report`.
    """
    with StoreReader(database) as reader:
        sides: list[tuple[str, tuple[Instance, ...]]] = []
        for name in (first, second):
            run = reader.find_run(name)
            found = reader.selected(Selection(runs=(run.id,)))
            if not found:
                raise UsageError(
                    f"Run {run.id} has no verdict yet.",
                    advice=f"Follow it with `edgelab runs attach {run.id}`.",
                )
            sides.append((run.id, found_instances(found, specs)))
    (first_id, firsts), (second_id, seconds) = sides
    if first_id == second_id:
        raise UsageError(f"Both names are run {first_id}.", advice="Name two different runs.")
    return ReportView(comparison=compare(first_id, second_id, firsts, seconds), made_s=made_s)


def _order(instance: Instance) -> tuple[bool, str, str, str, str, int, str]:
    place = (instance.simulated, instance.device, instance.backend, instance.method, instance.baseline_kind)
    return (*place, instance.level, instance.task)


def _curves(instances: Iterable[Instance]) -> tuple[FastCurve, ...]:
    groups: dict[tuple[bool, str, str, str, str], list[Instance]] = {}
    for instance in instances:
        if instance.level != OUTSIDE_SUITE and instance.judged:
            groups.setdefault(_order(instance)[:5], []).append(instance)
    return tuple(
        FastCurve(
            simulated=key[0],
            device=key[1],
            backend=key[2],
            method=key[3],
            baseline_kind=key[4],
            judged=len(groups[key]),
            points=fast_curve(groups[key]),
        )
        for key in sorted(groups)
    )


def _newest_programs(instances: Iterable[Instance]) -> Iterable[Instance]:
    """Return the newest instance that counts of each program on a device; `instances` come newest first."""
    programs: dict[tuple[bool, str, str, str, str], Instance] = {}
    for instance in instances:
        if instance.counts:
            program = instance.candidate_program or instance.run
            key = (instance.simulated, instance.device, instance.backend, instance.task, program)
            programs.setdefault(key, instance)
    return programs.values()
