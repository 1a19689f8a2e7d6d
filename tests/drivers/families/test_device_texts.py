"""Captures of real formats, as a probe brings them: what each family makes of them, and which fault it finds."""

from __future__ import annotations

import msgspec
import pytest

from edgelab.drivers.check import Check
from edgelab.drivers.device_state import DeviceState, PowerMode
from edgelab.drivers.families.jetson import JetsonFamily
from edgelab.drivers.families.jetson_reading import CONF, RELEASE, STATUS
from edgelab.drivers.families.rk3588 import CLOCK_TREE, Rk3588Family
from edgelab.drivers.family import Family
from edgelab.drivers.probe import CommandOutput, ProbeReply
from edgelab.drivers.profile import load_profile
from edgelab.drivers.readings.node_lines import read_node_lines
from tests.drivers.families.states import TEXTS

RK3588 = Rk3588Family(load_profile("rk3588"))
JETSON = JetsonFamily(load_profile("jetson-agx-orin-64gb"))


def text(name: str) -> str:
    return (TEXTS / name).read_bytes().decode(errors="replace")


def reply(files: dict[str, str], outputs: dict[str, str] | None = None, *captures: str) -> ProbeReply:
    """Return the reply that brings these files and outputs, and what captures of `grep -H` hold."""
    refused: dict[str, str] = {}
    for capture in captures:
        nodes = read_node_lines(text(capture))
        files, refused = {**files, **nodes.values}, {**refused, **nodes.refused}
    return ProbeReply(
        files={path: value.encode() for path, value in files.items()},
        refused=refused,
        outputs={name: CommandOutput(0, said.encode()) for name, said in (outputs or {}).items()},
        started_s=999.9,
        ended_s=1000.0,
    )


def judged(family: Family, state: DeviceState, before: DeviceState | None = None) -> dict[str, Check]:
    return {check.name: check for check in family.judge(state, before)}


GPUS = {
    "devfreq_three_nodes_no_userspace.txt": ("fb000000.gpu", True, ""),
    "devfreq_rk3588_ascending_userspace.txt": (
        "fb000000.gpu",
        False,
        "The GPU clock is 700 MHz, not 1000 MHz.",
    ),
    "devfreq_panthor_capped.txt": (
        "fb000000.gpu-panthor",
        False,
        "The GPU clock is capped at 850 MHz, below 1000 MHz.",
    ),
}


@pytest.mark.parametrize(("capture", "node", "ok", "reason"), [(name, *want) for name, want in GPUS.items()])
def test_the_gpu_among_memory_and_npu(capture: str, node: str, ok: bool, reason: str) -> None:
    state = RK3588.read(reply({}, None, capture))
    found = judged(RK3588, state)["gpu_clock"]

    gpu = state.clock("gpu")
    assert gpu is not None
    assert gpu.name == node
    assert gpu.available_hz[0] == 300_000_000
    assert gpu.available_hz[-1] == 1_000_000_000
    assert (found.ok, found.reason) == (ok, reason)


def test_memory_and_npu_are_told_apart_and_judged_by_their_own_table() -> None:
    state = RK3588.read(reply({}, None, "devfreq_three_nodes_no_userspace.txt"))

    assert [(clock.kind, clock.current_hz) for clock in state.clocks] == [
        ("memory", 2_400_000_000),
        ("gpu", 1_000_000_000),
        ("npu", 1_000_000_000),
    ]
    found = judged(RK3588, state)["memory_clock"]
    assert found.ok is False
    assert "under governor dmc_ondemand" in found.reason


@pytest.mark.parametrize(
    ("capture", "ok", "reason"),
    [
        ("clk_summary_load_850.txt", False, "The GPU runs at 850 MHz although 1000 MHz is requested."),
        ("clk_summary_idle.txt", None, "idle"),
    ],
)
def test_the_real_clock_by_the_clock_tree(capture: str, ok: bool | None, reason: str) -> None:
    files = {CLOCK_TREE: text(capture)}
    found = judged(RK3588, RK3588.read(reply(files, None, "devfreq_three_nodes_no_userspace.txt")))[
        "real_clock"
    ]

    assert found.ok is ok
    assert reason in found.reason


def test_zones_without_power_are_no_temperature() -> None:
    state = JETSON.read(reply({}, None, "thermal_orin_jp6_eagain.txt"))

    hottest = state.hottest()
    assert hottest is not None
    assert hottest.celsius == 53.218
    assert "gpu-thermal" not in [zone.zone for zone in state.temperatures]


MODES = {
    "nvpmodel_q_50w.txt": PowerMode("MODE_50W", 3),
    "nvpmodel_q_nonroot.txt": PowerMode("MODE_15W_DESKTOP", 7),
    "nvpmodel_q_crlf_pty.txt": PowerMode("40W", 4),
    "nvpmodel_q_warn_and_fan_first.txt": PowerMode("MODE_10W_4CORE", 4),
}


@pytest.mark.parametrize(("capture", "mode"), MODES.items(), ids=MODES.keys())
def test_the_mode_by_nvpmodel(capture: str, mode: PowerMode) -> None:
    state = JETSON.read(reply({}, {"nvpmodel": text(capture)}))

    assert state.power_mode == mode
    assert judged(JETSON, state)["power_mode"].ok is False


def test_the_mode_by_its_file_and_the_boards_own_list() -> None:
    conf = text("nvpmodel_conf_small.txt")
    state = JETSON.read(reply({STATUS: "pmode:0004 fmode:quiet\n", CONF: conf}))
    assert state.power_mode == PowerMode("35W", 4)

    unlisted = JETSON.read(reply({STATUS: text("nvpmodel_status_octal_trap.txt"), CONF: conf}))
    assert unlisted.power_mode is None
    assert f"{CONF} has no name for mode 10" in judged(JETSON, unlisted)["power_mode"].reason


def test_a_release_that_nobody_knows_yet_is_named_all_the_same() -> None:
    assert JETSON.read(reply({RELEASE: text("nv_tegra_release_future.txt")})).system == "L4T 41.1.1"
    assert (
        JETSON.read(reply({RELEASE: text("nv_tegra_release_r3643.txt")})).system == "JetPack 6.2 (L4T 36.4.3)"
    )


@pytest.mark.parametrize(
    ("capture", "ok", "reason"),
    [
        ("oc_counters_two_samples.txt", False, "Throttle counters grew within 30 s: oc2 by 2."),
        ("oc_counters_reboot_between.txt", None, "rebooted between the two looks"),
    ],
)
def test_over_current_between_two_looks(capture: str, ok: bool | None, reason: str) -> None:
    looks = []
    for sample in text(capture).split("@ ")[1:]:
        uptime, _, nodes = sample.partition("\n")
        files = {"/proc/uptime": f"{uptime} 0.00\n", **read_node_lines(nodes).values}
        looks.append(JETSON.read(reply(files)))
    before, after = looks

    found = judged(JETSON, after, before)["throttling"]
    assert found.ok is ok
    assert reason in found.reason


ERRORS = {
    "error_jetson_clocks_nonroot_show.txt": "as a root user",
    "error_sudo_password.txt": "a password is required",
}


@pytest.mark.parametrize(("capture", "words"), ERRORS.items(), ids=ERRORS.keys())
def test_a_refused_jetson_clocks_is_unknown_in_its_own_words(capture: str, words: str) -> None:
    state = JETSON.read(reply({}, {"jetson_clocks": text(capture)}))
    found = judged(JETSON, state)

    for name in ("memory_clock", "gpu_units"):
        assert found[name].ok is None
        assert words in found[name].reason


def test_an_empty_reply_is_unknown_throughout() -> None:
    for family in (JETSON, RK3588):
        state = family.read(reply({}))
        answers = judged(family, state)

        assert not [
            check.name for check in answers.values() if check.ok is not None and check.name != "runtime"
        ]
        assert all(check.reason for check in answers.values())
        assert msgspec.json.decode(msgspec.json.encode(state), type=DeviceState) == state
