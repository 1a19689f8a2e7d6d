"""Every fault of a board's health is found, with one sentence that says what and what to do."""

from __future__ import annotations

import msgspec
import pytest

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import DeviceState, LeaseHolder, Temperature
from edgelab.drivers.families.judgement import answer, rebooted, shared_checks, with_required
from edgelab.drivers.profile import HealthLimits, Profile, ThrottleRules
from tests.drivers.families.states import EARLIER, GOOD, GPU, PROFILE, changed, check_of, with_clock

ME = LeaseHolder(owner="ana@lab-2", purpose="run 261201-k7f3q", pid=4711, since_s=900.0)


def judged(
    state: DeviceState, before: DeviceState | None = EARLIER, profile: Profile = PROFILE
) -> list[Check]:
    return shared_checks(state, before, profile)


def test_a_board_in_order_fails_nothing() -> None:
    tried = changed(evidence=(("sudo", answer(GOOD, "sudo", True).evidence),))

    assert [check.name for check in judged(tried) if check.ok is False] == []


LOADED = msgspec.structs.replace(GPU, load_percent=96.0)
WRONG = {
    "another board": (
        changed(model="Radxa ROCK 5B", identity=("Radxa ROCK 5B", "rockchip,rk3588")),
        "identity",
        "This board calls itself 'Radxa ROCK 5B', which is no Test board; name another profile for it.",
    ),
    "clock hours behind": (
        changed(board_time_s=GOOD.read_s - 7 * 3600),
        "board_clock",
        "The board's clock is 7 h 00 min behind this machine's; set it (NTP).",
    ),
    "clock hours ahead": (changed(board_time_s=GOOD.read_s + 7 * 3600), "board_clock", "ahead of"),
    "sudo denied": (
        changed(sudo_problem="sudo: a password is required"),
        "sudo",
        "Locking the clocks needs sudo, which is not to be had: sudo: a password is required.",
    ),
    "throttled now": (changed(throttling=True), "throttling", "The board is throttled now"),
    "under-voltage": (
        changed(throttle_counts=(("oc1", 1), ("oc2", 3), ("oc3", 812))),
        "throttling",
        "Throttle counters grew within 1.0 s: oc1 by 1.",
    ),
    "over-current at a high rate": (
        changed(throttle_counts=(("oc1", 0), ("oc2", 3), ("oc3", 840))),
        "throttling",
        "oc3 by 28",
    ),
    "hot": (
        changed(temperatures=(Temperature("tj-thermal", 88.5), Temperature("cpu-thermal", 60.0))),
        "temperature",
        "tj-thermal is at 88.5 °C; let the board cool below 70 °C.",
    ),
    "load average": (changed(load_1min=5.5), "load", "The load average is 5.50"),
    "busy since a moment": (
        changed(cpu_ticks=(1_000 + 1_000, 100_000 + 1_200)),
        "load",
        "Other processes keep 10.0 cores busy just now",
    ),
    "GPU busy": (with_clock(LOADED), "load", "The GPU is 96 % busy with something else"),
    "little memory": (changed(memory_available_bytes=1 << 30), "memory", "Only 1.0 GiB of memory is available"),
    "full disk": (changed(disk_free_bytes=20 << 20), "disk", "Only 20.0 MiB of disk is free"),
    "empty battery": (changed(battery_percent=12.0), "battery", "The battery is at 12 %"),
    "someone else's lease": (
        changed(lease=ME, lease_free=False),
        "lease",
        "ana@lab-2 holds the board for 'run 261201-k7f3q' (pid 4711)",
    ),
    "a lease not signed yet": (changed(lease_free=False), "lease", "has not signed yet"),
}  # fmt: skip


@pytest.mark.parametrize(("state", "name", "reason"), WRONG.values(), ids=WRONG.keys())
def test_a_fault_is_found(state: DeviceState, name: str, reason: str) -> None:
    before = with_clock(LOADED, EARLIER) if "GPU" in reason else EARLIER
    checks = judged(state, before)

    assert [check.name for check in checks if check.ok is False] == [name]
    assert reason in check_of(checks, name).reason
    assert check_of(checks, name).value


UNKNOWN = {
    "identity": changed(identity=(), model=None),
    "board_clock": changed(board_time_s=None),
    "temperature": changed(temperatures=()),
    "load": changed(load_1min=None),
    "memory": changed(memory_available_bytes=None),
    "disk": changed(disk_free_bytes=None),
    "battery": changed(battery_percent=None),
    "lease": changed(lease_free=None),
    "throttling": changed(throttle_counts=(), throttling=None),
}


@pytest.mark.parametrize(("name", "gone"), UNKNOWN.items(), ids=UNKNOWN.keys())
def test_what_cannot_be_read_says_why(name: str, gone: DeviceState) -> None:
    state = changed(gone, unknown=((name, "/the/node: Permission denied"),))
    required = msgspec.structs.replace(PROFILE, required=(name,))

    found = check_of(with_required(judged(state, profile=required), required), name)

    assert found.ok is None
    assert found.required
    assert found.reason.endswith("/the/node: Permission denied.")


def test_a_module_with_half_the_memory_is_another_board() -> None:
    profile = msgspec.structs.replace(PROFILE, peaks=msgspec.structs.replace(PROFILE.peaks, memory_gib=64.0))

    assert check_of(judged(GOOD, profile=profile), "identity").ok is True
    half = changed(memory_total_bytes=30 << 30)
    assert "another module" in check_of(judged(half, profile=profile), "identity").reason


def test_the_gpu_load_of_our_own_program_is_not_somebody_elses() -> None:
    ours = changed(with_clock(LOADED), under_load=True)

    assert check_of(judged(ours), "load").ok is True
    assert check_of(judged(ours, with_clock(LOADED, EARLIER)), "load").ok is False


def test_load_is_judged_by_the_cores_where_a_profile_says_so() -> None:
    profile = msgspec.structs.replace(PROFILE, limits=HealthLimits(load_per_core=0.5))

    assert check_of(judged(changed(load_1min=5.5), profile=profile), "load").ok is True
    assert check_of(judged(changed(load_1min=5.5, cores=4), profile=profile), "load").ok is False


def test_what_the_board_was_busy_with_between_candidates_is_our_own() -> None:
    long_ago = changed(EARLIER, read_s=GOOD.read_s - 60)
    state = changed(cpu_ticks=(1_000 + 60_000, 100_000 + 72_000))

    assert check_of(judged(state, long_ago), "load").ok is True


def test_over_current_at_a_low_rate_is_normal() -> None:
    before = changed(uptime_s=4970.0, read_s=970.0)

    assert check_of(judged(changed(throttle_counts=(("oc3", 1040),)), before), "throttling").ok is True


REBOOTS = {
    "another boot id": changed(boot_id="boot-2", uptime_s=41.7),
    "uptime fell": changed(boot_id=None, uptime_s=41.7),
    "a counter fell": changed(boot_id=None, uptime_s=None),
}


@pytest.mark.parametrize("state", REBOOTS.values(), ids=REBOOTS.keys())
def test_counters_that_began_anew_are_not_compared(state: DeviceState) -> None:
    before = changed(throttle_counts=(("oc1", 1), ("oc2", 9), ("oc3", 4410)))

    assert rebooted(before, state)
    found = check_of(judged(state, before), "throttling")
    assert found.ok is None
    assert "rebooted" in found.reason


def test_one_look_shows_no_growth() -> None:
    found = check_of(judged(GOOD, None), "throttling")

    assert found.ok is None
    assert found.value == "oc1 0, oc2 3, oc3 812"


def test_throttling_without_counters_is_what_the_board_says_now() -> None:
    profile = msgspec.structs.replace(PROFILE, throttle=ThrottleRules())

    assert check_of(judged(GOOD, None, profile), "throttling").ok is True
    assert check_of(judged(changed(throttling=True), None, profile), "throttling").ok is False


def test_a_look_that_did_not_try_sudo_does_not_know_it() -> None:
    assert check_of(judged(GOOD), "sudo").ok is None
    unlocked = msgspec.structs.replace(PROFILE, clocks=msgspec.structs.replace(PROFILE.clocks, lock=False))
    assert "sudo" not in {check.name for check in judged(GOOD, profile=unlocked)}
