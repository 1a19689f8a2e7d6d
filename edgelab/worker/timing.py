"""Paired timing: the worker alternates blocks of two programs, A B then B A, and checks their clocks.

Each block is two round trips, one for untimed warm-up calls and one for the timed calls, so that what the
worker's own clock sees around the second one is the timed calls plus the way there and back. Parent and
child read the same clock (CLOCK_MONOTONIC), so a child's readings must lie inside the worker's. Both
readings are reported: whether a child claims less time than it took can only be told over many pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .channel import Kind
from .failures import HACK, WorkerFailure
from .program import Program
from .rotation import Rotation

_PROGRESS_EVERY_S = 1.0


@dataclass
class Series:
    """One side of the pairs: latency per call and the worker's own reading of each block, in seconds.

    `unseen_s` are single calls on inputs that the program has not just seen.
    """

    latencies_s: list[float] = field(default_factory=list)
    child_s: list[float] = field(default_factory=list)
    parent_s: list[float] = field(default_factory=list)
    unseen_s: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """How to time: `first` is 0 if the first pair begins with A, 1 if with B."""

    pairs: int
    calls_per_block: int
    warm_calls: int
    first: int
    time_s: float


def time_pairs(
    a: Program, b: Program, plan: Plan, progress: Callable[[int], None], rotation: Rotation | None = None
) -> tuple[Series, Series]:
    """Time up to `plan.pairs` pairs; fewer if `plan.time_s` is over after at least one.

    With `rotation` its inputs take turns and some pairs' outputs are checked, outside of what is timed.
    `progress` is called with the number of pairs done, at most once a second. Raises WorkerFailure: a
    program's own failure, `timeout` when one block outlasts the time, `hack` for readings outside of it, and
    what a check raises.
    """
    turns = rotation.series(plan.pairs) if rotation is not None else None
    series = (Series(), Series())
    programs = (a, b)
    deadline_s = time.monotonic() + plan.time_s
    next_progress_s = time.monotonic() + _PROGRESS_EVERY_S
    for pair in range(plan.pairs):
        now_s = time.monotonic()
        if now_s >= deadline_s and pair:
            break
        if now_s >= next_progress_s:
            progress(pair)
            next_progress_s = now_s + _PROGRESS_EVERY_S
        begins = (pair + plan.first) % 2
        warm_calls = plan.warm_calls
        if turns is not None:
            turns.turn(pair)
            warm_calls += turns.extra_calls(pair, plan.warm_calls + plan.calls_per_block)
        for side in (begins, 1 - begins):
            if turns is not None:
                turns.give(programs[side], _remaining(plan, deadline_s))
            _time_block(programs[side], series[side], plan, warm_calls, deadline_s)
        if turns is not None and turns.is_checked(pair):
            turns.check(programs)
        # A time-out in the middle of a pair raised; both sides have the same length here.
    if turns is not None:
        if turns.due:
            turns.check(programs)
        latest_s = max(one.latencies_s[-1] for one in series)
        for both in turns.time_unseen(programs, latest_s):
            for one, unseen_s in zip(series, both, strict=True):
                one.unseen_s.append(unseen_s)
    return series


def time_block(program: Program, plan: Plan) -> Series:
    """Time one block of one program, whose other side of the pair runs elsewhere; `pairs` and `first` do not count.

    Raises WorkerFailure as `time_pairs` does.
    """
    series = Series()
    _time_block(program, series, plan, plan.warm_calls, time.monotonic() + plan.time_s)
    return series


def _time_block(program: Program, series: Series, plan: Plan, warm_calls: int, deadline_s: float) -> None:
    if warm_calls:
        program.request(Kind.BLOCK, _remaining(plan, deadline_s), first=warm_calls)
    limit_s = _remaining(plan, deadline_s)
    sent_ns = time.perf_counter_ns()
    frame = program.request(Kind.BLOCK, limit_s, first=plan.calls_per_block)
    received_ns = time.perf_counter_ns()
    start_ns, end_ns = frame.first, frame.second
    if not sent_ns <= start_ns <= end_ns <= received_ns:
        program.kill()
        raise WorkerFailure(
            HACK,
            f"timer: {program.name} reported clock readings outside of the time its block took",
            detail=f"sent {sent_ns}, start {start_ns}, end {end_ns}, received {received_ns} (ns)",
            program=program.name,
        )
    series.child_s.append((end_ns - start_ns) / 1e9)
    series.latencies_s.append((end_ns - start_ns) / 1e9 / plan.calls_per_block)
    series.parent_s.append((received_ns - sent_ns) / 1e9)


def _remaining(plan: Plan, deadline_s: float) -> float:
    remaining_s = deadline_s - time.monotonic()
    # The pair that is under way may finish as long as a program keeps answering promptly.
    return max(remaining_s, min(1.0, plan.time_s))
