"""No reader raises, whatever bytes a board sends: arbitrary ones, and captures cut, doubled and spliced."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.readings.battery import read_battery
from edgelab.drivers.readings.clk_summary import gpu_rate_hz
from edgelab.drivers.readings.cpu_table import mask_of, read_cpu_table
from edgelab.drivers.readings.devfreq import read_devfreq
from edgelab.drivers.readings.disk import read_df
from edgelab.drivers.readings.jetson_clocks import read_jetson_clocks
from edgelab.drivers.readings.l4t_release import read_l4t_release
from edgelab.drivers.readings.loads import read_npu_load, read_permille_load, read_rated_load
from edgelab.drivers.readings.memory import read_free, read_meminfo
from edgelab.drivers.readings.node_lines import read_node_lines
from edgelab.drivers.readings.nvpmodel import (
    read_nvpmodel_change,
    read_nvpmodel_conf,
    read_nvpmodel_query,
    read_nvpmodel_status,
)
from edgelab.drivers.readings.overcurrent import read_overcurrent, read_overcurrent_pair
from edgelab.drivers.readings.proc import (
    read_boot_id,
    read_cpu_ticks,
    read_epoch_s,
    read_load_average,
    read_system_name,
    read_tree_strings,
    read_uptime_s,
)
from edgelab.drivers.readings.tegrastats import read_tegrastats
from edgelab.drivers.readings.thermalservice import read_thermalservice
from edgelab.drivers.readings.tool_errors import read_tool_error
from edgelab.drivers.readings.trans_stat import read_trans_stat
from edgelab.drivers.readings.zones import read_zones
from tests.drivers.readings.captures import EXPECTED, text_of
from tests.drivers.readings.test_expected import ADAPTERS

CAPTURES = [text_of(name) for name in sorted(EXPECTED)]
NODE_NAMES = (
    "/sys/class/devfreq/fb000000.gpu/cur_freq",
    "/sys/class/devfreq/fb000000.gpu/available_frequencies",
    "/sys/devices/system/cpu/cpufreq/policy0/related_cpus",
    "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "/sys/class/thermal/thermal_zone0/type",
    "/sys/class/thermal/thermal_zone0/temp",
    "/sys/class/hwmon/hwmon4/oc1_event_cnt",
)


def read_nodes(values: dict[str, str]) -> list[object]:
    """Give nodes to every reader of nodes, and touch what they compute."""
    gpu, cpus, zones = read_devfreq(values), read_cpu_table(values), read_zones(values)
    return [
        gpu, gpu.max_hz, gpu.has_userspace, gpu.locked_max, read_overcurrent(values), cpus, cpus.policies,
        cpus.prime, cpus.big_cpus, mask_of(cpus.big_cpus), zones, zones.hottest, zones.celsius("gpu"),
    ]  # fmt: skip


def read_everything(text: str) -> list[object]:
    """Give a text to every reader, and touch what they compute."""
    clocks, stats, heat = read_jetson_clocks(text), read_tegrastats(text), read_thermalservice(text)
    return [
        read_nodes(read_node_lines(text).values), read_nvpmodel_query(text), read_nvpmodel_change(text),
        read_nvpmodel_conf(text), read_nvpmodel_status(text), clocks, clocks.locked, clocks.session_ok, stats,
        stats.temp_tj, stats.temp_gpu, read_l4t_release(text), read_overcurrent_pair(text), gpu_rate_hz(text),
        read_trans_stat(text), read_rated_load(text), read_permille_load(text), read_npu_load(text), heat,
        heat.verdict, heat.hottest_c, heat.skin_c, read_battery(text), read_meminfo(text), read_free(text),
        read_df(text), read_tool_error(text), read_boot_id(text), read_cpu_ticks(text), read_epoch_s(text),
        read_load_average(text), read_system_name(text), read_tree_strings(text), read_uptime_s(text),
    ]  # fmt: skip


@given(st.binary(max_size=400))
def test_arbitrary_bytes(data: bytes):
    read_everything(data.decode(errors="replace"))


@given(st.dictionaries(st.sampled_from(NODE_NAMES) | st.text(max_size=9), st.binary(max_size=40)))
def test_arbitrary_nodes(nodes: dict[str, bytes]):
    read_nodes({path: data.decode(errors="replace") for path, data in nodes.items()})


@given(st.sampled_from(CAPTURES), st.integers(0, 4000), st.sampled_from(CAPTURES), st.integers(0, 4000))
def test_spliced_captures(one: str, end: int, other: str, begin: int):
    read_everything(one[:end] + other[begin:])


@given(st.sampled_from(CAPTURES), st.integers(0, 4000), st.text(max_size=6))
def test_captures_with_something_else_in_the_middle(text: str, at: int, inserted: str):
    read_everything(text[:at] + inserted + text[at:])


# Python refuses to make a number of more than 4300 digits.
LONG = ["9" * 5000, " " * 5000, "1," * 2500, "-9" * 2500, "\n" * 5000, "[" * 5000, "\0" * 5000]


@given(st.sampled_from(CAPTURES), st.integers(0, 2500), st.sampled_from(LONG))
def test_captures_with_a_long_run_in_the_middle(text: str, at: int, run: str):
    read_everything(text[:at] + run + text[at:])


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_number_may_be_too_long(name: str):
    text = text_of(name)
    for at in [at for at in range(1, len(text)) if text[at].isdigit() and not text[at - 1].isdigit()]:
        read_everything(text[max(0, at - 300) : at] + "9" * 5000 + text[at : at + 300])


FRAGMENTS = [
    "NV Power Mode: \t \t", "NVPM ERROR: Error : 1", "CPU [", "a-", "CPU [off,", "cpu0: ", "FAN pwm1=1 ", "EMC ",
    "GPU M", "mHotThrottlingThresholds=[", "mType=3, mName=", "Temperature{mValue=1, mType=0, mName=", "/a:/",
    "/x.gpu", "1 ", "grep: '", "cat: a: ", "@ ", "POWER_MODEL ID=1 NAME=", "PM_CONFIG DEFAULT=", "A_", " ", "\n",
    "PARAM GPU: ARG ", "Error writing 1 to gpu", "Offline CPUs: ", "\t", "9", "PRETTY_NAME=", "clk_gpu 1 1 1 ",
    "* 1: ", "RAM 1/1MB GR3D_FREQ @[",
]  # fmt: skip


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_long_hostile_texts_are_read_at_once(fragment: str):
    """A command's output is cut at 64 KiB; a pattern that backtracks over all of it takes 10 s and more."""
    text = fragment * (65536 // len(fragment))
    began = time.process_time()
    read_everything(text)
    read_everything(f"NV Power Mode: {text}x")
    assert time.process_time() - began < 5


LF_ALONE = ("tegrastats", "nvpmodel_conf", "nvpmodel_p")
"""What EdgeLab never reads through a terminal."""


@pytest.mark.parametrize("name", [name for name, entry in EXPECTED.items() if entry["kind"] not in LF_ALONE])
def test_carriage_returns_of_a_terminal_change_nothing(name: str):
    """A PTY ends lines with CR LF; where a reader copes with LF it copes with that."""
    entry, text = EXPECTED[name], text_of(name)
    read = ADAPTERS[entry["kind"]]
    typed = text.replace("\r\n", "\n").replace("\n", "\r\n")
    for key in entry:
        if key != "kind":
            assert read(typed, key) == read(text, key)
