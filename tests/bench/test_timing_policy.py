"""The stop rule and the shape of blocks and batches."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.timing_policy import TimingPolicy
from tests.support.statistics import some_statistics


def test_timing_goes_on_until_the_interval_is_narrow():
    policy = TimingPolicy()
    assert policy.is_enough(some_statistics(), 10, 1.0)
    assert not policy.is_enough(some_statistics(pairs=policy.min_pairs - 1), 10, 1.0)
    assert not policy.is_enough(some_statistics(), policy.min_sessions - 1, 1.0)
    assert not policy.is_enough(some_statistics(speedup_ci95=(0.9, 1.1)), 10, 1.0)
    assert not policy.is_enough(some_statistics(speedup_ci95=(0.991, 1.009)), 10, 1.0)
    assert not policy.is_enough(some_statistics(rcv_speedup=0.2), 10, 1.0)


def test_caps_end_timing_whatever_was_reached():
    policy = TimingPolicy()
    noisy = some_statistics(rcv_speedup=0.5)
    assert policy.is_enough(msgspec.structs.replace(noisy, pairs=policy.max_pairs), 10, 1.0)
    assert policy.is_enough(noisy, 10, policy.max_time_s)
    assert not policy.is_enough(msgspec.structs.replace(noisy, pairs=3), 10, policy.max_time_s + 1)


@given(st.floats(1e-7, 100))
def test_blocks_fit_the_call(latency_s):
    policy = TimingPolicy()
    calls = policy.calls_per_block(latency_s)
    assert calls >= 1
    assert calls == 1 or calls * latency_s <= 1.5 * policy.block_s + latency_s
    assert 4 <= policy.pairs_per_session(2 * calls * latency_s) <= 200
