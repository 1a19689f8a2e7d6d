"""Secret seeds: stable for a home and task, different for others, never an announced one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.reference import ANNOUNCED_SEEDS
from edgelab.bench.secret_seeds import SecretSeeds


@given(st.binary(min_size=1, max_size=64), st.text(max_size=64))
def test_seeds_are_stable_and_none_is_announced(secret, digest):
    seeds = SecretSeeds.derive(secret, digest)
    assert seeds == SecretSeeds.derive(secret, digest)
    every = (*seeds.timing, seeds.recheck, seeds.hidden)
    assert len(set(every)) == 5
    assert not set(every) & set(ANNOUNCED_SEEDS)
    assert all(0 < seed < 2**31 for seed in every)


def test_homes_and_tasks_have_seeds_of_their_own():
    derived = {SecretSeeds.derive(secret, digest) for secret in (b"a", b"b") for digest in ("x", "y")}
    assert len({seed for seeds in derived for seed in (*seeds.timing, seeds.recheck, seeds.hidden)}) == 20


def test_without_a_secret_there_are_no_seeds():
    with pytest.raises(ValueError, match="secret is empty"):
        SecretSeeds.derive(b"", "x")
