"""No reader raises, whatever bytes a board sends: arbitrary ones, and captures cut, doubled and spliced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.readings.battery import read_battery
from edgelab.drivers.readings.clk_summary import gpu_rate_hz
from edgelab.drivers.readings.cpu_table import read_cpu_table
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
from edgelab.drivers.readings.tegrastats import read_tegrastats
from edgelab.drivers.readings.thermalservice import read_thermalservice
from edgelab.drivers.readings.tool_errors import read_tool_error
from edgelab.drivers.readings.trans_stat import read_trans_stat
from edgelab.drivers.readings.zones import read_zones
from tests.drivers.readings.captures import EXPECTED, text_of
from tests.drivers.readings.test_expected import ADAPTERS
from tests.drivers.readings.test_expected import EXPECTED as _EXPECTED

CAPTURES = [text_of(name) for name in sorted(EXPECTED)]


def read_everything(text: str) -> list[object]:
    """Give a text to every reader, and touch what they compute."""
    values = read_node_lines(text).values
    clocks, stats, heat = read_jetson_clocks(text), read_tegrastats(text), read_thermalservice(text)
    gpu, cpus, zones = read_devfreq(values), read_cpu_table(values), read_zones(values)
    return [
        read_nvpmodel_query(text), read_nvpmodel_change(text), read_nvpmodel_conf(text), read_nvpmodel_status(text),
        clocks, clocks.locked, clocks.session_ok, stats, stats.temp_tj, stats.temp_gpu, read_l4t_release(text),
        read_overcurrent(values), read_overcurrent_pair(text), gpu, gpu.max_hz, gpu.locked_max, gpu_rate_hz(text),
        read_trans_stat(text), read_rated_load(text), read_permille_load(text), read_npu_load(text),
        cpus, cpus.prime, cpus.big_cpus, heat, heat.verdict, heat.hottest_c, read_battery(text), read_meminfo(text),
        read_free(text), read_df(text), read_tool_error(text), zones, zones.hottest, zones.celsius("gpu"),
    ]  # fmt: skip


@given(st.binary(max_size=400))
def test_arbitrary_bytes(data: bytes):
    read_everything(data.decode(errors="replace"))


@given(st.sampled_from(CAPTURES), st.integers(0, 4000), st.sampled_from(CAPTURES), st.integers(0, 4000))
def test_spliced_captures(one: str, end: int, other: str, begin: int):
    read_everything(one[:end] + other[begin:])


@given(st.sampled_from(CAPTURES), st.integers(0, 4000), st.text(max_size=6))
def test_captures_with_something_else_in_the_middle(text: str, at: int, inserted: str):
    read_everything(text[:at] + inserted + text[at:])


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_carriage_returns_of_a_terminal_change_nothing(name: str):
    """A PTY ends lines with CR LF; where a reader copes with LF it copes with that."""
    kind = _EXPECTED[name]["kind"]
    if kind not in ("nvpmodel_q", "nvpmodel_status", "jetson_clocks", "nv_tegra_release", "meminfo"):
        return
    text = text_of(name)
    for key in EXPECTED[name]:
        if key != "kind":
            assert ADAPTERS[kind](text.replace("\r\n", "\n").replace("\n", "\r\n"), key) == ADAPTERS[kind](
                text, key
            )
