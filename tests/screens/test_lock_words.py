from __future__ import annotations

from edgelab.drivers.profile import load_profile
from edgelab.screens.lock_words import lock_question, lockable
from tests.support import ui_boards as boards

DEVICES = (*boards.MIXED[1:6], boards.SIM_PHONE)
POLICIES = {device.name: load_profile(device.profile).clocks for device in DEVICES}
VIEWS = {view.device: view for view in boards.mixed_views()}


def test_the_question_says_what_changes_on_each_device() -> None:
    text = lock_question(["sim-rk3588", "orin-roof"], POLICIES, VIEWS)
    assert text.startswith("Lock the clocks of 2 devices?")
    assert "sim-rk3588: GPU held at 1000 MHz (now 300)" in text
    assert "orin-roof: power mode MAXN (now MODE_50W), GPU held at 1300 MHz (now 306)" in text
    assert "R puts it back" in text


def test_a_holder_is_named_before_the_refusal() -> None:
    assert "grace@desk holds it" in lock_question(["rock-a"], POLICIES, VIEWS)


def test_devices_that_are_not_ours_to_lock_are_left_out_and_named() -> None:
    names = ["sim-orin", "sim-phone"]
    assert lockable(names, POLICIES) == ("sim-orin",)
    text = lock_question(names, POLICIES, VIEWS)
    assert text.startswith("Lock the clocks of sim-orin?")
    assert "left alone: sim-phone." in text


def test_a_whole_rack_is_counted_and_not_listed() -> None:
    names = [f"orin-{number}" for number in range(31)]
    policies = dict.fromkeys(names, POLICIES["sim-orin"])
    text = lock_question(names, policies, {})
    assert "31 devices" in text
    assert "… and 25 more" in text
    assert len(text.splitlines()) < 12
