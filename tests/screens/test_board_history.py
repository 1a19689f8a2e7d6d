from __future__ import annotations

import msgspec

from edgelab.drivers.device_state import ClockDomain
from edgelab.lab.board_view import BoardView
from edgelab.screens.board_history import LENGTH, Histories
from tests.support import ui_boards as boards
from tests.support.ui_data import NOW_S


def looked(read_s: float, **fields: object) -> BoardView:
    state = msgspec.structs.replace(boards.orin_state(), read_s=read_s, **fields)
    return boards.view("sim-orin", state)


def test_one_look_counts_once_however_often_it_is_shown() -> None:
    histories = Histories()
    for _ in range(3):
        histories.take(looked(NOW_S))
    histories.take(looked(NOW_S + 1))
    assert len(histories.of("sim-orin").gpu_hz) == 2
    assert histories.of("nobody").gpu_hz == ()


def test_time_without_a_look_stays_empty() -> None:
    histories = Histories()
    histories.take(looked(NOW_S))
    histories.take(looked(NOW_S + 30))
    found = histories.of("sim-orin").celsius
    assert found[0] == found[-1] == 46.2
    assert set(found[1:-1]) == {None}
    assert len(found) == 32


def test_two_minutes_are_kept() -> None:
    histories = Histories()
    for second in range(300):
        histories.take(looked(NOW_S + second))
    assert len(histories.of("sim-orin").gpu_hz) == LENGTH
    histories.take(looked(NOW_S + 1e6))
    assert len(histories.of("sim-orin").gpu_hz) == LENGTH


def test_an_unknown_gpu_clock_is_no_cpu_clock() -> None:
    histories = Histories()
    histories.take(looked(NOW_S))
    histories.take(looked(NOW_S + 1, clocks=boards.orin_state().clocks[1:]))
    assert histories.of("sim-orin").gpu_hz == (1_300_500_000, None)


def test_a_memory_clock_outlives_looks_that_do_not_read_it() -> None:
    emc = ClockDomain(name="emc", kind="memory", current_hz=3_199_000_000)
    histories = Histories()
    histories.take(looked(NOW_S, clocks=(*boards.orin_state().clocks, emc)))
    histories.take(looked(NOW_S + 1))
    found = histories.of("sim-orin")
    assert (found.memory, found.memory_read_s) == (emc, NOW_S)
