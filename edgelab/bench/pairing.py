"""The timing step: pairs from the worker until the measurement's quality holds or a cap is reached."""

from __future__ import annotations

import statistics
import time
from typing import Protocol

import msgspec

from edgelab.bench.clock_check import check_clocks
from edgelab.bench.phases import Emit
from edgelab.bench.timing import PairStatistics
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers import worker_messages as messages
from edgelab.events import DeviceSampled, PairsTimed

_SLOW_BLOCK_S = 0.05


class PairTimer(Protocol):
    """The part of a worker that timing needs."""

    async def pair(
        self, a: str, b: str, *, pairs: int, calls_per_block: int, warm_calls: int, first: int, time_s: float
    ) -> messages.PairSeries:
        """Time `pairs` pairs of programs `a` and `b`."""
        ...

    async def sample(self) -> messages.DeviceReading:
        """Read the device's state."""
        ...


class PairSeries(msgspec.Struct, frozen=True):
    """All pairs of one measurement: latencies in seconds by pair, and what they amount to."""

    candidate_s: tuple[float, ...]
    baseline_s: tuple[float, ...]
    calls_per_block: int
    statistics: PairStatistics


async def time_pairs(worker: PairTimer, policy: TimingPolicy, emit: Emit) -> PairSeries:
    """Time the loaded programs `candidate` and `baseline` in pairs under `policy`.

    Raises `EvaluationFailure` when a program fails while it is timed.
    """
    candidate_latency_s, baseline_latency_s = await _warm_up(worker, policy)
    fast_s = min(candidate_latency_s, baseline_latency_s)
    slow_s = max(candidate_latency_s, baseline_latency_s)
    # A block of the slow side stays short even where the fast side wants many calls a block.
    calls = min(policy.calls_per_block(fast_s), max(1, int(_SLOW_BLOCK_S / slow_s)))
    warm_calls = policy.warm_calls_per_block(slow_s)
    batch = policy.pairs_per_batch(slow_s)
    candidate_s: list[float] = []
    baseline_s: list[float] = []
    parent_s: list[tuple[float, float]] = []
    begin_s = time.monotonic()
    while True:
        count = min(batch, policy.max_pairs - len(candidate_s))
        limit_s = 10 + 20 * count * (calls + warm_calls) * 2 * slow_s
        timed = await worker.pair(
            "candidate", "baseline", pairs=count, calls_per_block=calls, warm_calls=warm_calls,
            first=len(candidate_s) % 2, time_s=limit_s,
        )  # fmt: skip
        candidate_s += timed.a_s
        baseline_s += timed.b_s
        parent_s += timed.parent_s
        summary = PairStatistics.of(candidate_s, baseline_s)
        emit(_event(timed, summary, policy, calls))
        emit(DeviceSampled(**msgspec.structs.asdict(await worker.sample())))
        if policy.is_enough(summary, time.monotonic() - begin_s):
            check_clocks(
                [seen - calls * said for (seen, _), said in zip(parent_s, candidate_s, strict=True)],
                [seen - calls * said for (_, seen), said in zip(parent_s, baseline_s, strict=True)],
                block_s=calls * slow_s,
            )
            return PairSeries(tuple(candidate_s), tuple(baseline_s), calls, summary)


async def _warm_up(worker: PairTimer, policy: TimingPolicy) -> tuple[float, float]:
    """Run both programs for `warm_up_s` and return their rough latencies in seconds."""
    begin_s = time.monotonic()
    while True:
        timed = await worker.pair(
            "candidate", "baseline", pairs=3, calls_per_block=1, warm_calls=1, first=0, time_s=120.0
        )
        if time.monotonic() - begin_s >= policy.warm_up_s:
            return statistics.median(timed.a_s), statistics.median(timed.b_s)


def _event(
    timed: messages.PairSeries, summary: PairStatistics, policy: TimingPolicy, calls: int
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
        quality=summary.quality,
    )
