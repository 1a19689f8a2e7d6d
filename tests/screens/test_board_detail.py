from __future__ import annotations

import re

import msgspec
import pytest

from edgelab.drivers.check import LockReport, RestoreReport
from edgelab.drivers.device_state import ClockDomain
from edgelab.lab.board_view import BoardView
from edgelab.lab.device import Device
from edgelab.screens.board_detail import board_lines
from edgelab.screens.board_history import BoardHistory
from edgelab.widgets.spans import text_of, width
from tests.support import ui_boards as boards
from tests.support.ui_data import NOW_S

HISTORY = BoardHistory(gpu_hz=(306e6, 1300.5e6, None, 1300.5e6), celsius=(40.0, 46.0))
EVERY = list(zip(boards.MIXED[1:], boards.mixed_views()[1:], strict=True))


def said(device: Device, view: BoardView | None, cells: int = 158, history: BoardHistory = HISTORY) -> str:
    return text_of(board_lines(device, view, history, NOW_S, cells))


@pytest.mark.parametrize("cells", [40, 78, 158])
@pytest.mark.parametrize(("device", "view"), EVERY, ids=[device.name for device, _ in EVERY])
def test_every_state_fits_its_width(device: Device, view: BoardView, cells: int) -> None:
    assert all(width(line) <= cells for line in board_lines(device, view, HISTORY, NOW_S, cells))


def test_readings_have_units_sources_and_the_age_of_the_look() -> None:
    text = said(boards.SIM_ORIN, boards.orin_view())
    for words in (
        "1300 of 1300 MHz  held",
        "devfreq/17000000.gpu",
        "46 °C at tj-thermal",
        "/sys/class/thermal/thermal_zone2/temp",
        "oc1 0  oc2 0  oc3 0",
        "0.05 over 1 min",
        "53.0 GiB available of 61.0 GiB",
        "df -Pk .",
        "what it had, stored 4 min ago by ada@bench for lock",
        "GPU 2 min",
        "306 MHz … 1300 MHz",
    ):
        assert words in text
    assert re.search(r"Readings ─+ now", text)


def test_what_is_unknown_says_why() -> None:
    text = said(boards.SIM_ORIN, boards.orin_view())
    assert "memory clock — unknown  only a full check runs" in text
    assert "— unknown  /sys/class/kgsl/kgsl-3d0/gpuclk" in said(
        boards.SIM_PHONE, boards.view("sim-phone", boards.phone_state())
    )


def test_a_memory_clock_of_an_earlier_look_is_shown_with_its_own_age() -> None:
    emc = ClockDomain(name="emc", kind="memory", current_hz=3_199_000_000, source="jetson_clocks --show")
    history = BoardHistory(memory=emc, memory_read_s=NOW_S - 40)
    assert "memory clock 3199 MHz    read 40 s ago" in said(
        boards.SIM_ORIN, boards.orin_view(), history=history
    )


def test_a_failed_check_gives_reason_value_wanted_and_evidence_with_age() -> None:
    text = said(boards.SIM_RK3588, boards.rk3588_view(), 78)
    assert "✗ not ready  2 of 6 checks say yes" in text
    assert "✗ disk" in text
    assert "1.0 GiB free of 58.0 GiB, wanted: at least 2.0 GiB free" in text
    assert "df -Pk .: /dev/mmcblk0p1" in text
    assert "12 s ago" in text
    # What is wrong stands above what is well.
    assert text.index("✗ disk") < text.index("? runtime") < text.index("✓ reachable")


def test_a_lost_link_says_so_and_that_values_are_old() -> None:
    device, view = EVERY[2]
    text = said(device, view)
    assert "✗ The link to orin-bench (10.0.7.21) broke (Connection lost)." in text
    assert "stale, read 1 min ago" in text
    spans = [span for line in board_lines(device, view, HISTORY, NOW_S, 158) for span in line]
    assert next(span for span in spans if span.text == "1300 of 1300 MHz").style == "faint"


def test_an_unknown_key_shows_its_fingerprint_and_the_way_to_trust_it() -> None:
    device, view = EVERY[5]
    text = said(device, view)
    assert boards.FINGERPRINT in text
    assert "u trusts this key" in text
    wrong_device, wrong = EVERY[6]
    assert "u trusts" not in said(wrong_device, wrong)
    assert "r connects anew" in said(wrong_device, wrong)


def test_a_device_that_lacks_its_password_says_which_key_gives_it() -> None:
    device, view = EVERY[3]
    assert "p gives it" in said(device, view)


def test_a_device_in_use_says_who_has_it_and_why_its_values_rest() -> None:
    device, view = EVERY[4]
    text = said(device, view)
    assert "grace@desk: run 260829-w3k9p (pid 7071), since 21 min ago" in text
    assert "values are those from before" in text


def test_steps_are_told_while_they_happen_and_the_end_afterwards() -> None:
    busy = boards.orin_view(activity="lock", lock=None)
    assert "Locking" in said(boards.SIM_ORIN, busy)
    assert "Last lock" not in said(boards.SIM_ORIN, busy)
    assert "✓ locked and confirmed" in said(boards.SIM_ORIN, boards.orin_view())
    failed = LockReport(
        device="sim-orin",
        locked=False,
        needs_reboot=True,
        problem="Mode MAXN needs a reboot.",
        advice="Reboot the board.",
    )
    restored = RestoreReport(device="sim-orin", restored=False, problem="/sys/x refused 5.")
    text = said(boards.SIM_ORIN, boards.orin_view(lock=failed, restore=restored))
    for words in (
        "needs a reboot, which is yours to start",
        "Reboot the board.",
        "not all is put back",
        "refused 5",
    ):
        assert words in text


def test_many_steps_leave_the_newest() -> None:
    steps = tuple(f"step {number}" for number in range(30))
    text = said(boards.SIM_ORIN, boards.orin_view(steps=steps))
    assert "… 18 steps before" in text
    assert "step 29" in text


def test_a_device_that_was_never_seen_says_so() -> None:
    assert "has not told of it yet" in said(boards.SIM_ORIN, None)
    unread = msgspec.structs.replace(boards.orin_view(), state=None)
    assert "Nothing was read yet." in said(boards.SIM_ORIN, unread)
