"""Two runs side by side: speed-ups, their ratio with an interval, and what changed in the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from edgelab.bench.metrics.instance import Instance


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One task in both runs; a side is None where its run has no result of the task.

    `ratio` is the second speed-up over the first: above 1 the second is faster. It is None unless both
    timings hold. `change` says what became of the verdict, empty where it stayed.
    """

    task: str
    first: Instance | None
    second: Instance | None
    ratio: float | None
    ratio_ci95: tuple[float, float] | None
    change: str
    notes: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True):
    """Rows by task. `first` and `second` are run ids."""

    first: str
    second: str
    rows: tuple[ComparisonRow, ...]


def compare(
    first: str, second: str, of_first: Iterable[Instance], of_second: Iterable[Instance]
) -> Comparison:
    """Return the comparison of two sets of results with at most one instance a task each."""
    firsts = {instance.task: instance for instance in of_first}
    seconds = {instance.task: instance for instance in of_second}
    tasks = sorted(firsts | seconds)
    return Comparison(first, second, tuple(_row(task, firsts.get(task), seconds.get(task)) for task in tasks))


def ratio_interval(
    first: float, first_ci95: tuple[float, float], second: float, second_ci95: tuple[float, float]
) -> tuple[float, float]:
    """Return the 95 % interval of second / first from the intervals of two independent positive estimates.

    The method of variance estimates recovery on logarithms, where a ratio is a difference: the distances
    of the bounds from the estimates add up as squares. G. Y. Zou and A. Donner, "Construction of confidence
    limits about effect measures: a general approach", Statistics in Medicine 27 (2008), 1693-1702.
    """
    a, (a_low, a_high) = math.log(first), map(math.log, first_ci95)
    b, (b_low, b_high) = math.log(second), map(math.log, second_ci95)
    down, up = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    return (math.exp(b - a - down), math.exp(b - a + up))


def _row(task: str, first: Instance | None, second: Instance | None) -> ComparisonRow:
    ratio, bounds = _ratio(first, second) if first and second else (None, None)
    return ComparisonRow(
        task=task,
        first=first,
        second=second,
        ratio=ratio,
        ratio_ci95=bounds,
        change=_change(first, second),
        notes=tuple(_notes(first, second)) if first and second else (),
    )


def _ratio(first: Instance, second: Instance) -> tuple[float | None, tuple[float, float] | None]:
    if not (first.timed and second.timed and first.speedup and second.speedup):
        return None, None
    ratio = second.speedup / first.speedup
    bounds = first.ci95, second.ci95
    # An interval from batch means is symmetric and can reach below zero: it then has no logarithm.
    if bounds[0] is None or bounds[1] is None or min(bounds[0][0], bounds[1][0]) <= 0:
        return ratio, None
    return ratio, ratio_interval(first.speedup, bounds[0], second.speedup, bounds[1])


def verdict_words(instance: Instance | None) -> str:
    """Return a verdict in words: `ok`, `failed (numeric)`, `not judged`, `missing`."""
    if instance is None:
        return "missing"
    if instance.verdict == "failed":
        return f"failed ({instance.failure_class})"
    return instance.verdict.replace("_", " ")


def _change(first: Instance | None, second: Instance | None) -> str:
    before, after = verdict_words(first), verdict_words(second)
    return "" if before == after else f"{before} → {after}"


def _notes(first: Instance, second: Instance) -> Sequence[str]:
    notes: list[str] = []
    if (first.device, first.backend) != (second.device, second.backend):
        notes.append(
            f"Not the same device: {first.device} ({first.backend}) and {second.device} ({second.backend})."
        )
    if first.simulated != second.simulated:
        notes.append("One of the two was measured on a simulated board.")
    if first.baseline_kind != second.baseline_kind:
        notes.append(f"Not the same baseline: {first.baseline_kind} and {second.baseline_kind}.")
    elif "" not in (first.baseline_program, second.baseline_program) and (
        first.baseline_program != second.baseline_program
    ):
        notes.append("The baseline's program changed between the two.")
    if first.candidate_program and first.candidate_program == second.candidate_program:
        notes.append("Both judged the same program: the ratio shows what repeats differ by.")
    return notes
