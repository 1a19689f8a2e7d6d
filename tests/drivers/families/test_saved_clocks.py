"""What a board had is on the board before anything is changed, or nothing is changed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.device_state import PowerMode, SavedClocks
from edgelab.drivers.families import saved_clocks
from edgelab.errors import EvaluationFailure
from tests.drivers.families.fake_board import SAVED
from tests.drivers.families.fake_rk3588 import fake_rk3588

KEPT = SavedClocks(
    family="jetson",
    owner="ana@lab-2",
    saved_s=1.5,
    boot_id="boot-1",
    power_mode=PowerMode("MAXN", 0),
    nodes=(("/sys/a", "1"),),
    files=(".edgelab/store.conf",),
)


async def test_what_is_stored_is_read_again_and_cleared() -> None:
    board = fake_rk3588()

    await saved_clocks.store(board, KEPT)
    assert saved_clocks.decode(board.files[SAVED].encode()) == KEPT

    await saved_clocks.clear(board)
    assert SAVED not in board.files


async def test_a_store_that_does_not_stay_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    board = fake_rk3588()

    async def cut(path: str, data: bytes, *, root: bool = False) -> None:
        board.files[path] = data.decode()[:20]

    monkeypatch.setattr(board, "write", cut)
    with pytest.raises(EvaluationFailure, match="nothing was changed"):
        await saved_clocks.store(board, KEPT)


@given(st.integers(0, 200))
def test_a_file_cut_short_is_nothing(length: int) -> None:
    whole = msgspec.json.encode(KEPT)

    assert saved_clocks.decode(whole[: min(length, len(whole) - 1)]) is None


def test_a_file_of_something_else_is_nothing() -> None:
    assert saved_clocks.decode(b'{"family": 3}') is None
    assert saved_clocks.decode(b"\xff\xfe") is None
