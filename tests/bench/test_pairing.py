"""The timing step over a scripted worker: warm-up, blocks, batches, events and the end."""

from __future__ import annotations

import itertools
import random

import pytest

from edgelab.bench.pairing import time_pairs
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.worker_messages import DeviceReading, PairSeries
from edgelab.errors import ClocksLost, EvaluationFailure, FailureClass
from edgelab.events import DeviceSampled, PairsTimed


class ScriptedWorker:
    """Answers with latencies from two functions of the pair's number."""

    def __init__(self, candidate, baseline, *, short_by: int = 0) -> None:
        self._candidate, self._baseline = candidate, baseline
        self._numbers = itertools.count()
        self._short_by = short_by
        self.nodes = []
        self.calls: list[dict] = []
        self.sessions: list[int] = []

    async def open_session(self, number):
        self.sessions.append(number)

    async def pair(self, a, b, *, pairs, calls_per_block, warm_calls, first, time_s):
        assert (a, b) == ("candidate", "baseline")
        self.calls.append(
            {"pairs": pairs, "calls": calls_per_block, "warm": warm_calls, "first": first, "time_s": time_s}
        )
        numbers = [next(self._numbers) for _ in range(max(1, pairs - self._short_by))]
        a_s, b_s = (tuple(side(number) for number in numbers) for side in (self._candidate, self._baseline))
        seen_s = tuple(
            (calls_per_block * a + 3e-5, calls_per_block * b + 3e-5) for a, b in zip(a_s, b_s, strict=True)
        )
        return PairSeries(a_s, b_s, seen_s)

    @property
    def timed(self) -> list[dict]:
        """The timed requests: every session begins with one that warms up."""
        return self.calls[1::2]

    async def sample(self, nodes=()):
        self.nodes.append(nodes)
        return DeviceReading(cpu_freq_hz=None, temperature_c=50.0, load_1min=0.1, memory_available_bytes=None)


POLICY = TimingPolicy(warm_up_s=0.0)


async def test_a_steady_pair_ends_as_soon_as_there_are_enough():
    events = []
    worker = ScriptedWorker(lambda _: 2e-3, lambda _: 3e-3)
    series = await time_pairs(worker, worker.open_session, POLICY, events.append)
    assert series.statistics.speedup == pytest.approx(1.5)
    assert series.statistics.quality == "strict"
    assert len(series.candidate_s) >= POLICY.min_pairs
    assert len(worker.sessions) == POLICY.min_sessions
    assert worker.sessions == list(range(len(worker.timed)))
    timed = [event for event in events if isinstance(event, PairsTimed)]
    assert sum(len(event.candidate_s) for event in timed) == len(series.candidate_s)
    assert timed[-1].pairs == series.statistics.pairs
    assert [event.temperature_c for event in events if isinstance(event, DeviceSampled)] == [50.0] * len(
        timed
    )


async def test_noise_in_the_ratio_ends_at_the_cap_with_what_was_reached():
    source = random.Random(3)
    worker = ScriptedWorker(lambda _: source.uniform(1e-4, 3e-4), lambda _: source.uniform(1e-4, 3e-4))
    policy = TimingPolicy(warm_up_s=0.0, max_pairs=500)
    series = await time_pairs(worker, worker.open_session, policy, lambda _: None)
    assert series.statistics.quality == "none"
    assert series.statistics.pairs == 500


async def test_drift_of_both_sides_is_paired_quality():
    worker = ScriptedWorker(lambda n: 1e-3 * (1 + n % 40), lambda n: 1.2e-3 * (1 + n % 40))
    series = await time_pairs(worker, worker.open_session, POLICY, lambda _: None)
    assert series.statistics.quality == "paired"
    assert series.statistics.speedup == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("candidate_s", "baseline_s", "calls", "warm"),
    [(5e-5, 5e-5, 20, 1), (4e-3, 4e-3, 1, 1), (0.1, 0.1, 1, 0), (1e-5, 10e-3, 5, 0), (1e-5, 0.2, 1, 0)],
)
async def test_blocks_fit_both_sides(candidate_s, baseline_s, calls, warm):
    worker = ScriptedWorker(lambda _: candidate_s, lambda _: baseline_s)
    await time_pairs(worker, worker.open_session, POLICY, lambda _: None)
    assert {(call["calls"], call["warm"]) for call in worker.timed} == {(calls, warm)}


async def test_order_flips_across_batches_of_odd_length():
    worker = ScriptedWorker(lambda _: 1.0, lambda _: 1.0, short_by=1)
    policy = TimingPolicy(warm_up_s=0.0, min_sessions=3, min_pairs=3, max_pairs=5)
    await time_pairs(worker, worker.open_session, policy, lambda _: None)
    assert [call["first"] for call in worker.timed] == [0, 1, 0]


async def test_time_limits_leave_room_for_the_slow_side():
    worker = ScriptedWorker(lambda _: 1e-3, lambda _: 0.5)
    await time_pairs(worker, worker.open_session, POLICY, lambda _: None)
    assert all(call["time_s"] > 2 * call["pairs"] * call["calls"] * 0.5 for call in worker.timed)


async def test_a_candidate_that_hides_time_is_a_hack():
    class Liar(ScriptedWorker):
        async def pair(self, *args, **fields):
            honest = await super().pair(*args, **fields)
            return PairSeries(tuple(a / 2 for a in honest.a_s), honest.b_s, honest.parent_s)

    liar = Liar(lambda _: 1e-3, lambda _: 1e-3)
    with pytest.raises(EvaluationFailure, match="less time than the worker's clock") as caught:
        await time_pairs(liar, liar.open_session, POLICY, lambda _: None)
    assert caught.value.failure_class is FailureClass.HACK


async def test_a_bias_that_lasts_a_session_is_averaged_and_the_interval_tells():
    errors, covered = [], 0
    for seed in range(20):
        source = random.Random(seed)

        class Biased(ScriptedWorker):
            bias = 1.0

            async def open_session(self, number, source=source):
                await super().open_session(number)
                self.bias = 1 + source.gauss(0, 0.01)

        worker = Biased(lambda _, w=lambda: worker: 1e-3 * w().bias, lambda _: 1e-3)
        series = await time_pairs(worker, worker.open_session, POLICY, lambda _: None)
        low, high = series.statistics.speedup_ci95
        covered += low <= 1 <= high
        errors.append(abs(series.statistics.speedup - 1))
    assert max(errors) < 0.01
    assert covered >= 14


class LosingWatch:
    """Finds the clocks lost at the third reading."""

    nodes = ("/sys/gpu/cur_freq",)

    def __init__(self) -> None:
        self.read = []

    def sampled(self, reading: DeviceReading) -> DeviceSampled:
        return DeviceSampled(gpu_freq_hz=1e9)

    def confirm(self, reading: DeviceReading) -> None:
        self.read.append(reading)
        if len(self.read) == 3:
            raise ClocksLost("gpu at 408 MHz")


async def test_lost_clocks_end_the_timing_after_they_are_told():
    events, watch = [], LosingWatch()
    worker = ScriptedWorker(lambda _: 2e-3, lambda _: 3e-3)
    with pytest.raises(ClocksLost, match="408 MHz"):
        await time_pairs(worker, worker.open_session, POLICY, events.append, watch)
    assert worker.nodes == [watch.nodes] * 3
    assert [event.gpu_freq_hz for event in events if isinstance(event, DeviceSampled)] == [1e9] * 3
