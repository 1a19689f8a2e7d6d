"""EdgeLab may die, and the link may break, at any change of a lock: restoring then puts everything back."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelab.drivers.families.jetson import JetsonFamily
from edgelab.drivers.families.rk3588 import Rk3588Family
from edgelab.drivers.family import Family
from edgelab.drivers.profile import load_profile
from edgelab.drivers.transport import LinkFailure
from tests.drivers.families import fake_jetson, fake_rk3588
from tests.drivers.families.acting import checks, lock, restore
from tests.drivers.families.fake_board import FakeBoard
from tests.drivers.families.fake_jetson import FakeJetson

JETSON = JetsonFamily(load_profile("jetson-agx-orin-64gb"))
RK3588 = Rk3588Family(load_profile("rk3588"))


async def broken_off(board: FakeBoard, family: Family, changes: int, *, after: bool) -> bool:
    """Lock until the link breaks after so many changes; returns whether it broke."""
    board.changes_left, board.breaks_after = changes, after
    try:
        outcome = await lock(board, family)
    except LinkFailure:
        return True
    else:
        assert outcome.done, outcome
        return False
    finally:
        board.changes_left = None


async def puts_back(board: FakeBoard, family: Family, before: dict[str, str]) -> None:
    outcome = await restore(board, family)
    assert outcome.done, outcome
    assert board.nodes() == before
    assert not [path for path in board.files if path.startswith(".edgelab")]


@pytest.mark.parametrize("after", [False, True], ids=["before the change", "after the change"])
async def test_every_prefix_of_a_jetsons_lock_is_undone(after: bool) -> None:
    changes = 0
    while True:
        board = FakeJetson()
        before = board.nodes()
        if not await broken_off(board, JETSON, changes, after=after):
            break
        await puts_back(board, JETSON, before)
        changes += 1
    assert changes > 20


@pytest.mark.parametrize("after", [False, True], ids=["before the change", "after the change"])
async def test_every_prefix_of_an_rk3588s_lock_is_undone(after: bool) -> None:
    changes = 0
    while True:
        board = fake_rk3588.fake_rk3588()
        before = board.nodes()
        if not await broken_off(board, RK3588, changes, after=after):
            break
        await puts_back(board, RK3588, before)
        changes += 1
    assert changes > 6


@settings(max_examples=40, deadline=None)
@given(
    mode=st.sampled_from(sorted(fake_jetson.MODES)),
    low=st.sampled_from(fake_jetson.GPU_STEPS_HZ[:2]),
    governor=st.sampled_from(["schedutil", "performance", "powersave"]),
    first=st.integers(0, 60),
    second=st.integers(0, 60),
    strict=st.booleans(),
)
async def test_two_broken_locks_and_a_broken_restore_end_where_they_began(
    mode: int, low: int, governor: str, first: int, second: int, strict: bool
) -> None:
    board = FakeJetson(mode, strict_limits=strict)
    board.kernel.write(f"{fake_jetson.GPU}/min_freq", str(low))
    for policy in fake_jetson.POLICIES:
        board.kernel.write(f"/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor", governor)
    before = board.nodes()

    await broken_off(board, JETSON, first, after=False)
    await broken_off(board, JETSON, second, after=True)
    board.changes_left = second
    with contextlib.suppress(LinkFailure):
        await restore(board, JETSON)
    board.changes_left = None

    await puts_back(board, JETSON, before)


async def test_locking_again_after_a_break_still_knows_what_was_first() -> None:
    board = FakeJetson()
    before = board.nodes()

    assert await broken_off(board, JETSON, 9, after=True)
    assert (await lock(board, JETSON)).done
    assert (await checks(board, JETSON))["gpu_clock"].ok
    await puts_back(board, JETSON, before)
