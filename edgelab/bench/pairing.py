"""The timing step: pairs from the worker until the measurement's quality holds or a cap is reached."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from edgelab.bench.clock_check import check_clocks
from edgelab.bench.device_watch import UNWATCHED, DeviceWatch
from edgelab.bench.phases import Emit
from edgelab.bench.timing import PairStatistics
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.bench.unseen_calls import check_unseen
from edgelab.drivers import worker_messages as messages
from edgelab.events import PairsTimed
from edgelab.results import Quality

_SLOW_BLOCK_S = 0.05


class PairTimer(Protocol):
    """The part of a worker that timing needs."""

    async def pair(
        self, a: str, b: str, *, pairs: int, calls_per_block: int, warm_calls: int, first: int, time_s: float
    ) -> messages.PairSeries:
        """Time `pairs` pairs of programs `a` and `b`."""
        ...

    async def sample(self, nodes: Sequence[str] = ()) -> messages.DeviceReading:
        """Read the device's state and the files `nodes`."""
        ...


class PairSeries(msgspec.Struct, frozen=True):
    """All pairs of one measurement: latencies in seconds by pair, and what they amount to."""

    candidate_s: tuple[float, ...]
    baseline_s: tuple[float, ...]
    calls_per_block: int
    statistics: PairStatistics


OpenSession = Callable[[int], Awaitable[None]]
"""Loads both programs anew, with the inputs that are timed; the number counts sessions from 0."""


async def time_pairs(
    worker: PairTimer,
    open_session: OpenSession,
    policy: TimingPolicy,
    emit: Emit,
    watch: DeviceWatch = UNWATCHED,
) -> PairSeries:
    """Time the programs `candidate` and `baseline` in pairs under `policy`.

    Between the sessions `watch` sees the state of the device, and ends the timing when it is not as it was.

    Two processes of one program differ by up to some per cent for as long as they live, by where their
    memory happened to lie. No number of pairs removes that, so both are loaded anew for each session of
    about `policy.session_s`, and the interval covers what differs between sessions.

    Raises `EvaluationFailure` when a program fails while it is timed, or hides time, and what `watch` raises.
    """
    timing = _Timing(worker, policy, emit, watch)
    begin_s = time.monotonic()
    for number in itertools.count():
        await open_session(number)
        summary = await timing.session(number + 1)
        if policy.is_enough(summary, number + 1, time.monotonic() - begin_s):
            return timing.result(summary)
    raise AssertionError("unreachable: the sessions are endless")


class _Timing:
    """The series of one measurement while they grow."""

    def __init__(self, worker: PairTimer, policy: TimingPolicy, emit: Emit, watch: DeviceWatch) -> None:
        self._worker = worker
        self._policy = policy
        self._emit = emit
        self._watch = watch
        self._candidate_s: list[float] = []
        self._baseline_s: list[float] = []
        self._parent_s: list[tuple[float, float]] = []
        self._unseen_s: list[tuple[float, float]] = []
        self._plan: _Plan | None = None

    async def session(self, number: int) -> PairStatistics:
        """Warm up and time the pairs of session `number` (from 1); return the statistics over all sessions."""
        rough_s = await _warm_up(self._worker, self._policy, first_session=self._plan is None)
        # One plan for all sessions: a block must not change its length in the middle of a series.
        self._plan = plan = self._plan or _Plan.of(*rough_s, self._policy)
        taken = len(self._candidate_s)
        timed = await self._worker.pair(
            "candidate",
            "baseline",
            pairs=min(plan.pairs, self._policy.max_pairs - taken),
            calls_per_block=plan.calls,
            warm_calls=plan.warm_calls,
            first=taken % 2,
            time_s=plan.limit_s,
        )
        self._candidate_s += timed.a_s
        self._baseline_s += timed.b_s
        self._parent_s += timed.parent_s
        self._unseen_s += timed.unseen_s
        summary = PairStatistics.of(self._candidate_s, self._baseline_s)
        # A quality that a few pairs seem to have would only flicker.
        quality = summary.quality if self._policy.is_settled(summary, number) else "none"
        self._emit(_event(timed, summary, self._policy, plan.calls, quality))
        reading = await self._worker.sample(self._watch.nodes)
        self._emit(self._watch.sampled(reading))
        self._watch.confirm(reading)
        return summary

    def result(self, summary: PairStatistics) -> PairSeries:
        """Return the series, once the clocks of both sides agree with the worker's and unseen inputs cost no more."""
        assert self._plan is not None
        calls = self._plan.calls
        check_clocks(
            [seen - calls * said for (seen, _), said in zip(self._parent_s, self._candidate_s, strict=True)],
            [seen - calls * said for (_, seen), said in zip(self._parent_s, self._baseline_s, strict=True)],
            block_s=calls * self._plan.slow_s,
        )
        check_unseen(self._unseen_s, summary.latency_candidate_s, summary.latency_baseline_s)
        return PairSeries(tuple(self._candidate_s), tuple(self._baseline_s), calls, summary)


class _Plan(msgspec.Struct, frozen=True):
    """What a session consists of: pairs, calls a block, untimed calls before them, and its time limit."""

    pairs: int
    calls: int
    warm_calls: int
    slow_s: float
    limit_s: float

    @classmethod
    def of(cls, candidate_latency_s: float, baseline_latency_s: float, policy: TimingPolicy) -> _Plan:
        fast_s = min(candidate_latency_s, baseline_latency_s)
        slow_s = max(candidate_latency_s, baseline_latency_s)
        # A block of the slow side stays short even where the fast side wants many calls a block.
        calls = min(policy.calls_per_block(fast_s), max(1, int(_SLOW_BLOCK_S / slow_s)))
        warm_calls = policy.warm_calls_per_block(slow_s)
        pairs = policy.pairs_per_session((calls + warm_calls) * (fast_s + slow_s))
        return cls(pairs, calls, warm_calls, slow_s, 10 + 20 * pairs * (calls + warm_calls) * 2 * slow_s)


async def _warm_up(worker: PairTimer, policy: TimingPolicy, *, first_session: bool) -> tuple[float, float]:
    """Run both programs, longer in the first session, and return their rough latencies in seconds."""
    limit_s = policy.warm_up_s if first_session else 0.0
    begin_s = time.monotonic()
    while True:
        timed = await worker.pair(
            "candidate", "baseline", pairs=3 if first_session else 1, calls_per_block=1,
            warm_calls=1 if first_session else 0, first=0, time_s=120.0,
        )  # fmt: skip
        if time.monotonic() - begin_s >= limit_s:
            return statistics.median(timed.a_s), statistics.median(timed.b_s)


def _event(
    timed: messages.PairSeries, summary: PairStatistics, policy: TimingPolicy, calls: int, quality: Quality
) -> PairsTimed:
    return PairsTimed(
        candidate_s=tuple(timed.a_s),
        baseline_s=tuple(timed.b_s),
        pairs=summary.pairs,
        max_pairs=policy.max_pairs,
        calls_per_block=calls,
        latency_candidate_s=summary.latency_candidate_s,
        latency_baseline_s=summary.latency_baseline_s,
        speedup=summary.speedup,
        speedup_ci95=summary.speedup_ci95,
        rcv_candidate=summary.rcv_candidate,
        rcv_baseline=summary.rcv_baseline,
        rcv_speedup=summary.rcv_speedup,
        quality=quality,
    )
