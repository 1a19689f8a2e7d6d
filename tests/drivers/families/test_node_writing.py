"""A knob is believed by what it holds afterwards; writing back copes with limits that stand in each other's way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.families.node_writing import NodeRefused, same, write_back, write_node
from edgelab.drivers.transport import LinkFailure
from tests.drivers.families.fake_rk3588 import GPU, GPU_STEPS_HZ, fake_rk3588


async def test_a_written_knob_is_told_as_it_was_read_back() -> None:
    board, said = fake_rk3588(), []

    await write_node(board, f"{GPU}/max_freq", "800000000", said.append)

    assert said == [f"{GPU}/max_freq = 800000000"]


async def test_a_knob_that_takes_nothing_is_refused_in_the_boards_words() -> None:
    board = fake_rk3588()

    with pytest.raises(NodeRefused, match=f"tee: {GPU}/governor: Invalid argument"):
        await write_node(board, f"{GPU}/governor", "no_such_governor", print)


async def test_a_knob_that_takes_a_value_and_holds_another_is_refused() -> None:
    board = fake_rk3588()
    board.kernel.stuck[f"{GPU}/max_freq"] = "850000000"

    with pytest.raises(NodeRefused, match="holds 850000000 after 1000000000 was written"):
        await write_node(board, f"{GPU}/max_freq", "1000000000", print)


async def test_without_root_the_link_says_so() -> None:
    board = fake_rk3588()
    board.sudo = False

    with pytest.raises(LinkFailure) as raised:
        await write_node(board, f"{GPU}/governor", "performance", print)
    assert raised.value.problem == "sudo"


limits = st.tuples(st.sampled_from(GPU_STEPS_HZ), st.sampled_from(GPU_STEPS_HZ)).map(sorted)


@given(present=limits, wanted=limits, strict=st.booleans())
async def test_limits_are_written_back_from_any_other_ones(
    present: list[int], wanted: list[int], strict: bool
) -> None:
    board = fake_rk3588(strict_limits=strict)
    board.files.update({f"{GPU}/min_freq": str(present[0]), f"{GPU}/max_freq": str(present[1])})
    nodes = [(f"{GPU}/min_freq", str(wanted[0])), (f"{GPU}/max_freq", str(wanted[1]))]

    assert await write_back(board, nodes, lambda step: None) == ()
    assert [board.files[path] for path, _ in nodes] == [value for _, value in nodes]


async def test_what_does_not_go_back_is_named() -> None:
    board = fake_rk3588()
    board.kernel.read_only.add(f"{GPU}/max_freq")
    nodes = [(f"{GPU}/governor", "performance"), (f"{GPU}/max_freq", "800000000")]

    (refused,) = await write_back(board, nodes, lambda step: None)

    assert f"{GPU}/max_freq does not take 800000000" in refused.message
    assert board.files[f"{GPU}/governor"] == "performance"


def test_hertz_may_be_rounded_to_kilohertz_and_nothing_else() -> None:
    assert same("1300500000", "1300500999")
    assert not same("1300500000", "1300501000")
    assert not same("2201600", "2201601")
    assert not same("", "0")
    assert same("performance", "performance")
