"""From the store's results to instances of the benchmark, with those that are wanted and missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from edgelab.bench.metrics.instance import OUTSIDE_SUITE, Instance, instance_of
from edgelab.bench.task_template import BACKEND_OF_DOMAIN, TaskSpec
from edgelab.store.selection import SelectedRun, Selection

_DOMAIN_OF_BACKEND = {backend: domain for domain, backend in BACKEND_OF_DOMAIN.items()}

_Place = tuple[bool, str, str, str, str]


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is about; what is empty or None is not filtered by.

    `task` is a glob over task names, `since_s` the earliest creation of a run in seconds since the epoch.
    """

    devices: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    task: str = ""
    since_s: float | None = None

    @property
    def selection(self) -> Selection:
        """The same filters over the store, which knows no levels."""
        return Selection(devices=self.devices, backends=self.backends, task=self.task, since_s=self.since_s)

    def wants_level(self, level: int) -> bool:
        """Return whether instances of `level` are asked for."""
        return not self.levels or level in self.levels


def found_instances(found: Iterable[SelectedRun], specs: Iterable[TaskSpec]) -> tuple[Instance, ...]:
    """Return an instance for each run, with the level of its task in the suite.

    A task file of the operator's, and a task run on a backend that it does not count for, has level 0.
    """
    suite = {(spec.name, backend): spec for spec in specs for backend in spec.backends}
    return tuple(_instance(one, suite.get((one.run.task, one.run.backend))) for one in found)


def _instance(one: SelectedRun, spec: TaskSpec | None) -> Instance:
    assert one.run.result is not None, f"run {one.run.id} was selected without a verdict"
    return instance_of(
        one.run.result,
        level=spec.level if spec else OUTSIDE_SUITE,
        domain=_DOMAIN_OF_BACKEND[one.run.backend] if spec else "",
        method=one.method,
        baseline_kind=one.baseline_kind,
        valid=one.valid,
        when_s=one.run.created_s,
    )


def with_missing(
    found: Sequence[Instance], specs: Iterable[TaskSpec], request: ReportRequest
) -> tuple[Instance, ...]:
    """Return `found` and, for each device, method and baseline among it, the wanted instances that it lacks.

    Wanted is every task of the suite that counts for the backend and that `request` lets through. A
    device where only tasks outside the suite ran is not held to the suite.
    """
    specs = [
        spec for spec in specs if request.wants_level(spec.level) and request.selection.wants_task(spec.name)
    ]
    have: dict[_Place, set[str]] = {}
    for instance in found:
        if instance.level != OUTSIDE_SUITE:
            have.setdefault(_place(instance), set()).add(instance.task)
    missing = [
        _missing(place, spec)
        for place, tasks in sorted(have.items())
        for spec in specs
        if place[2] in spec.backends and spec.name not in tasks
    ]
    return (*found, *missing)


def _place(instance: Instance) -> _Place:
    return (
        instance.simulated, instance.device, instance.backend, instance.method, instance.baseline_kind,
    )  # fmt: skip


def _missing(place: _Place, spec: TaskSpec) -> Instance:
    simulated, device, backend, method, baseline_kind = place
    return Instance(
        task=spec.name,
        level=spec.level,
        domain=_DOMAIN_OF_BACKEND[backend],
        backend=backend,
        device=device,
        simulated=simulated,
        method=method,
        baseline_kind=baseline_kind,
        verdict="missing",
    )
