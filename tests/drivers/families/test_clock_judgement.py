"""Clocks that are not what the profile wants are found, each with a reason that says how."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.device_state import ClockDomain, DeviceState, PowerMode
from edgelab.drivers.families.clock_judgement import clock_checks, near, not_held
from edgelab.drivers.profile import ClockPolicy
from tests.drivers.families.states import (
    CPU,
    CPU_HZ,
    GOOD,
    GPU,
    GPU_HZ,
    MEMORY,
    PROFILE,
    changed,
    check_of,
    clock,
    with_clock,
)

POLICY = PROFILE.clocks


def with_gpu(**changes: object) -> DeviceState:
    return with_clock(msgspec.structs.replace(GPU, **changes))


def with_cpu(**changes: object) -> DeviceState:
    return with_clock(msgspec.structs.replace(CPU, **changes))


def test_a_board_that_is_held_as_wanted_passes_every_check() -> None:
    checks = clock_checks(with_gpu(measured_hz=GPU_HZ), POLICY)

    assert [check.name for check in checks if check.ok is not True] == []
    assert {check.name for check in checks} == {
        "power_mode", "gpu_clock", "cpu_clock", "memory_clock", "real_clock", "gpu_units"
    }  # fmt: skip


WRONG = {
    "wrong mode though locked": (
        changed(power_mode=PowerMode("MODE_30W", 2)),
        "power_mode",
        "The power mode is MODE_30W, not MAXN though its clocks are locked.",
    ),
    "a mode this board does not have": (
        changed(power_mode=PowerMode("25W", 3), power_modes=(PowerMode("25W", 3), PowerMode("MAXN_SUPER", 2))),
        "power_mode",
        "This board knows no power mode MAXN: it has 25W, MAXN_SUPER.",
    ),
    "MAXN though unlocked": (
        with_gpu(min_hz=306_000_000, current_hz=408_000_000, governor="nvhost_podgov"),
        "gpu_clock",
        "The GPU clock is not locked: it may go from 306 MHz to 1300.5 MHz under governor nvhost_podgov.",
    ),
    "unlocked but at its top just now": (with_gpu(min_hz=306_000_000), "gpu_clock", "not locked"),
    "capped by its mode": (
        with_gpu(min_hz=816_000_000, max_hz=816_000_000, current_hz=816_000_000),
        "gpu_clock",
        "The GPU clock is capped at 816 MHz, below 1300.5 MHz.",
    ),
    "performance under a cap": (
        with_gpu(max_hz=918_000_000, current_hz=918_000_000, governor="performance"),
        "gpu_clock",
        "capped at 918 MHz",
    ),
    "held, yet running slower": (
        with_gpu(current_hz=1_198_500_000),
        "gpu_clock",
        "The GPU clock is 1198.5 MHz, not 1300.5 MHz.",
    ),
    "a table without the target": (
        with_gpu(available_hz=(114_750_000, 624_750_000)),
        "gpu_clock",
        "The GPU has no step at 1300.5 MHz: its table goes from 114.75 MHz to 624.75 MHz.",
    ),
    "850 MHz for a request of 1 GHz": (
        with_gpu(measured_hz=850_000_000),
        "real_clock",
        "The GPU runs at 850 MHz although 1300.5 MHz is requested.",
    ),
    "CPUs unlocked": (with_cpu(min_hz=729_600_000, governor="schedutil"), "cpu_clock", "CPU policy0 clock is not locked"),
    "memory unlocked": (
        with_clock(msgspec.structs.replace(MEMORY, min_hz=204_000_000, current_hz=2_133_000_000)),
        "memory_clock",
        "The memory emc clock is not locked: it may go from 204 MHz to 3199 MHz.",
    ),
    "half the GPU off": (changed(gpu_units=4), "gpu_units", "Only 4 of the GPU's 8 processing clusters are powered."),
}  # fmt: skip


@pytest.mark.parametrize(("state", "name", "reason"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_clock_is_found(state: DeviceState, name: str, reason: str) -> None:
    checks = clock_checks(state, POLICY)

    found = check_of(checks, name)
    assert found.ok is False
    assert reason in found.reason
    assert [check.name for check in checks if check.ok is False] == [name]
    assert found.value
    assert found.wanted


UNKNOWN = {
    "mode": (changed(power_mode=None, unknown=(("power_mode", "/var/lib/nvpmodel/status: Permission denied"),)), "power_mode", "Permission denied"),
    "no GPU node": (changed(clocks=(CPU, MEMORY), unknown=(("gpu_clock", "/sys/class/devfreq/*/cur_freq is not on this board"),)), "gpu_clock", "is not on this board"),
    "GPU's current clock": (with_gpu(current_hz=None, problem="/sys/gpu/cur_freq: Permission denied"), "gpu_clock", "Permission denied"),
    "CPU's current clock": (with_cpu(current_hz=None, problem="/sys/cpu/scaling_cur_freq: Permission denied"), "cpu_clock", "Permission denied"),
    "memory": (changed(clocks=(GPU, CPU), unknown=(("memory_clock", "jetson_clocks --show did not end within its time limit"),)), "memory_clock", "time limit"),
    "idle GPU": (with_gpu(measured_hz=None), "real_clock", "idle GPU"),
    "units": (changed(gpu_units=None, unknown=(("gpu_units", "sudo: a password is required"),)), "gpu_units", "password"),
}  # fmt: skip


@pytest.mark.parametrize(("state", "name", "why"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_cannot_be_read_is_unknown_and_says_why(state: DeviceState, name: str, why: str) -> None:
    found = check_of(clock_checks(state, POLICY), name)

    assert found.ok is None
    assert why in found.reason
    assert found.value in ("", "—", "policy0 unknown")


def test_clocks_within_one_per_cent_are_right() -> None:
    # JetPack 7 locks CPUs one step below the top, tegrastats reads 305 for 306.
    state = with_cpu(min_hz=2_188_800_000, max_hz=2_188_800_000, current_hz=2_188_800_000)

    assert check_of(clock_checks(state, POLICY), "cpu_clock").ok is True
    assert near(305_000_000, 306_000_000, 0.01)
    assert not near(302_000_000, 306_000_000, 0.01)


def test_a_set_point_holds_with_open_limits() -> None:
    state = with_gpu(min_hz=306_000_000, governor="userspace", setpoint_hz=GPU_HZ)

    assert check_of(clock_checks(state, POLICY), "gpu_clock").ok is True


def test_memory_held_by_bpmp_is_held_with_open_limits() -> None:
    state = with_clock(msgspec.structs.replace(MEMORY, min_hz=204_000_000, governor="override"))

    assert check_of(clock_checks(state, POLICY), "memory_clock").ok is True


BIG = clock("cpu", 2_256_000_000, name="policy4")
LITTLE = clock("cpu", 1_800_000_000, name="policy0")


def test_each_cluster_has_to_be_at_its_own_top() -> None:
    policy = ClockPolicy(cpu_at_max=True)
    slow = msgspec.structs.replace(LITTLE, min_hz=408_000_000, max_hz=1_200_000_000, current_hz=1_200_000_000,
                                   available_hz=(408_000_000, 1_200_000_000, 1_800_000_000))  # fmt: skip

    assert check_of(clock_checks(changed(clocks=(LITTLE, BIG)), policy), "cpu_clock").ok is True
    found = check_of(clock_checks(changed(clocks=(slow, BIG)), policy), "cpu_clock")
    assert found.ok is False
    assert "CPU policy0 clock is capped at 1200 MHz" in found.reason
    assert found.evidence is not None
    assert found.evidence.source == slow.source


def test_a_slower_cluster_beside_the_wanted_clock_is_held_at_its_own_top() -> None:
    policy = ClockPolicy(cpu_hz=2_256_000_000)

    assert check_of(clock_checks(changed(clocks=(LITTLE, BIG)), policy), "cpu_clock").ok is True
    drifting = msgspec.structs.replace(LITTLE, min_hz=408_000_000)
    assert check_of(clock_checks(changed(clocks=(drifting, BIG)), policy), "cpu_clock").ok is False


def test_a_governor_alone_leaves_the_clock_free() -> None:
    policy = ClockPolicy(cpu_governor="performance")
    moving = clock("cpu", CPU_HZ, governor="performance", min_hz=400_000_000, current_hz=900_000_000)

    assert check_of(clock_checks(changed(clocks=(moving,)), policy), "cpu_clock").ok is True
    saving = msgspec.structs.replace(moving, governor="powersave")
    found = check_of(clock_checks(changed(clocks=(saving,)), policy), "cpu_clock")
    assert found.reason == "The governor of CPU policy0 is powersave, not performance."


def test_nothing_is_asked_by_an_empty_policy() -> None:
    checks = clock_checks(GOOD, ClockPolicy())

    assert all(check.ok for check in checks)
    assert "real_clock" not in {check.name for check in checks}


frequencies = st.none() | st.integers(0, 4_000_000_000)


@given(current=frequencies, low=frequencies, high=frequencies, target=st.integers(1, 4_000_000_000))
def test_a_clock_is_held_only_if_it_runs_at_its_target(
    current: int | None, low: int | None, high: int | None, target: int
) -> None:
    domain = ClockDomain(
        name="g", kind="gpu", current_hz=current, min_hz=low, max_hz=high, governor="performance"
    )

    assert (not_held(domain, target, 0.01) is None) <= near(current, target, 0.01)
