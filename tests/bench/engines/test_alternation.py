"""Pairs over two sides: order, warm-up calls, the end of the time, and the readings of both clocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.engines.alternation import Alternator
from edgelab.bench.pairing import time_pairs
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.worker_messages import Block, DeviceReading
from edgelab.errors import EvaluationFailure


class ScriptedSide:
    """Notes its blocks in a diary that both sides share."""

    def __init__(self, name: str, latency_s: float, diary: list, *, gap_s: float = 3e-5) -> None:
        self._name, self._latency_s, self._diary, self._gap_s = name, latency_s, diary, gap_s
        self.limits_s: list[float] = []

    async def renew(self, inputs) -> None:
        self._diary.append(f"renew {self._name}")

    async def block(self, *, calls_per_block, warm_calls, time_s):
        self._diary.append((self._name, calls_per_block, warm_calls))
        self.limits_s.append(time_s)
        return Block(self._latency_s, calls_per_block * self._latency_s + self._gap_s)


async def no_sample(nodes=()):
    return DeviceReading(
        cpu_freq_hz=None, temperature_c=None, load_1min=None, memory_available_bytes=None, nodes={}
    )


def alternator(diary: list, **fields) -> Alternator:
    sides = {
        "candidate": ScriptedSide("A", 1e-3, diary, **fields),
        "baseline": ScriptedSide("B", 2e-3, diary),
    }
    return Alternator(sides, no_sample)


@given(pairs=st.integers(1, 20), first=st.integers(0, 1))
async def test_the_order_flips_with_every_pair(pairs, first):
    diary: list = []
    series = await alternator(diary).pair(
        "candidate", "baseline", pairs=pairs, calls_per_block=4, warm_calls=1, first=first, time_s=60
    )
    order = "".join(name for name, _, _ in diary)
    expected = ("AB", "BA") if first == 0 else ("BA", "AB")
    assert order == "".join(expected[number % 2] for number in range(pairs))
    assert all(entry[1:] == (4, 1) for entry in diary)
    assert series.a_s == (1e-3,) * pairs
    assert series.b_s == (2e-3,) * pairs
    assert len(series.parent_s) == pairs


async def test_series_belong_to_the_sides_that_were_asked_for():
    series = await alternator([]).pair(
        "baseline", "candidate", pairs=2, calls_per_block=1, warm_calls=0, first=1, time_s=60
    )
    assert (series.a_s[0], series.b_s[0]) == (2e-3, 1e-3)
    assert series.parent_s[0] == pytest.approx((2e-3 + 3e-5, 1e-3 + 3e-5))


async def test_no_pair_begins_when_the_time_is_over_but_one_is_always_whole():
    diary: list = []
    series = await alternator(diary).pair(
        "candidate", "baseline", pairs=1000, calls_per_block=1, warm_calls=0, first=0, time_s=0.0
    )
    assert len(series.a_s) == len(series.b_s) == 1


async def test_timing_renews_both_sides_and_gives_the_baseline_its_speed_up():
    diary: list = []
    pairs = alternator(diary)

    async def open_session(number):
        diary.append(f"session {number}")

    policy = TimingPolicy(warm_up_s=0.0)
    series = await time_pairs(pairs, open_session, policy, lambda _: None)
    assert series.statistics.speedup == pytest.approx(2.0)
    assert "session 0" in diary
    assert f"session {policy.min_sessions - 1}" in diary


async def test_a_side_that_hides_time_is_found_by_the_clock_outside():
    pairs = alternator([], gap_s=5e-3)

    async def open_session(number):
        pass

    with pytest.raises(EvaluationFailure, match="less time than"):
        await time_pairs(pairs, open_session, TimingPolicy(warm_up_s=0.0), lambda _: None)
