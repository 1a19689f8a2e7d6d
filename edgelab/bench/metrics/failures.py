"""The failure taxonomy: how many instances of a backend and level ended in which class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from edgelab.bench.metrics.instance import Instance
from edgelab.errors import FailureClass

COUNTED_CLASSES = tuple(kind.value for kind in FailureClass if kind is not FailureClass.INFRASTRUCTURE)
"""Classes that are held against a candidate, in the order of reports."""


class FailureRow(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of one backend and level. `classes` has every counted class, also those that never occurred.

    `failed` is their sum, `judged` the instances they are among.
    """

    simulated: bool
    backend: str
    level: int
    classes: dict[str, int]
    failed: int
    judged: int


def failure_rows(instances: Iterable[Instance]) -> tuple[FailureRow, ...]:
    """Return a row for each (simulated, backend, level) with judged instances, physical devices first.

    Infrastructure failures are in none of them, missing instances only in `judged`.
    """
    groups: dict[tuple[bool, str, int], list[Instance]] = {}
    for instance in instances:
        if instance.judged:
            key = (instance.simulated, instance.backend, instance.level)
            groups.setdefault(key, []).append(instance)
    return tuple(_row(*key, groups[key]) for key in sorted(groups))


def _row(simulated: bool, backend: str, level: int, instances: list[Instance]) -> FailureRow:
    found = Counter(instance.failure_class for instance in instances if instance.verdict == "failed")
    # A class that this EdgeLab does not know (a store of another version) is shown, not dropped.
    names = [*COUNTED_CLASSES, *sorted(set(found) - set(COUNTED_CLASSES))]
    return FailureRow(
        simulated=simulated,
        backend=backend,
        level=level,
        classes={name: found[name] for name in names},
        failed=found.total(),
        judged=len(instances),
    )


def classes_found(rows: Iterable[FailureRow]) -> tuple[str, ...]:
    """Return the classes that occurred in `rows`, in the taxonomy's order, unknown ones last."""
    found = {name for row in rows for name, count in row.classes.items() if count}
    unknown = sorted(found - set(COUNTED_CLASSES))
    return (*(name for name in COUNTED_CLASSES if name in found), *unknown)
