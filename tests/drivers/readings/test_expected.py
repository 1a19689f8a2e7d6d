"""Every expectation of the captured texts, each key of each file, by one adapter a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from edgelab.drivers.readings.battery import read_battery
from edgelab.drivers.readings.clk_summary import gpu_rate_hz, real_clock_verdict
from edgelab.drivers.readings.cpu_table import mask_of, read_cpu_table
from edgelab.drivers.readings.devfreq import read_devfreq
from edgelab.drivers.readings.disk import read_df
from edgelab.drivers.readings.jetson_clocks import read_jetson_clocks
from edgelab.drivers.readings.l4t_release import read_l4t_release
from edgelab.drivers.readings.loads import read_npu_load, read_permille_load, read_rated_load
from edgelab.drivers.readings.memory import read_free, read_meminfo
from edgelab.drivers.readings.node_lines import read_node_lines, whole
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
from tests.drivers.readings.captures import EXPECTED, FOLDER, text_of


def fields(read: Callable[[str], object]) -> Callable[[str, str], Any]:
    """Return an adapter for a reader whose result has the expected keys as attributes."""
    return lambda text, key: getattr(read(text), key)


def nodes(read: Callable[[dict[str, str]], object]) -> Callable[[str, str], Any]:
    return lambda text, key: getattr(read(read_node_lines(text).values), key)


def tegrastats(text: str, key: str) -> Any:
    found = read_tegrastats(text)
    if key == "rail":
        return list(found.rails)
    return found.rails if key == "rail_mw" else getattr(found, key)


def clk_summary(text: str, key: str) -> Any:
    real_hz = gpu_rate_hz(text)
    asked_hz = next(
        whole(value) for path, value in read_node_lines(text).values.items() if path.endswith("cur_freq")
    )
    return {"gpu_hz": real_hz, "devfreq_hz": asked_hz, "verdict": real_clock_verdict(real_hz, asked_hz)}[key]


def zones(text: str, key: str) -> Any:
    found = read_zones(read_node_lines(text).values)
    if key == "ignored":
        return sorted(found.ignored)
    if key in ("max_c", "max_name"):
        assert found.hottest is not None
        return found.hottest.celsius if key == "max_c" else found.hottest.name
    return found.celsius(key.removesuffix("_c"))


def oc_pair(text: str, key: str) -> Any:
    found = read_overcurrent_pair(text)
    return found.events[key] if key.startswith("oc") else getattr(found, key)


def cpu_table(text: str, key: str) -> Any:
    found = read_cpu_table(read_node_lines(text).values)
    if key == "mask_prime":
        assert found.prime is not None
        return mask_of([found.prime])
    return mask_of(found.big_cpus) if key == "mask_big" else getattr(found, key)


def df(text: str, key: str) -> Any:
    found = read_df(text)
    assert found is not None
    return str(found.available_kb) if key == "avail" else getattr(found, key)


ADAPTERS: dict[str, Callable[[str, str], Any]] = {
    "nvpmodel_q": fields(read_nvpmodel_query),
    "nvpmodel_m": fields(read_nvpmodel_change),
    "nvpmodel_p": fields(read_nvpmodel_conf),
    "nvpmodel_conf": fields(read_nvpmodel_conf),
    "nvpmodel_status": fields(read_nvpmodel_status),
    "jetson_clocks": fields(read_jetson_clocks),
    "tegrastats": tegrastats,
    "nv_tegra_release": fields(read_l4t_release),
    "zones": zones,
    "oc": lambda text, key: read_overcurrent(read_node_lines(text).values)[key],
    "oc_pair": oc_pair,
    "devfreq": nodes(read_devfreq),
    "clk_summary": clk_summary,
    "trans_stat": fields(read_trans_stat),
    "devfreq_load": fields(read_rated_load),
    "permille_load": lambda text, key: read_permille_load(next(iter(read_node_lines(text).values.values()))),
    "npu_load": lambda text, key: read_npu_load(text),
    "cpu_table": cpu_table,
    "thermalservice": fields(read_thermalservice),
    "battery": fields(read_battery),
    "meminfo": fields(read_meminfo),
    "free_h": fields(read_free),
    "df": df,
    "error": lambda text, key: read_tool_error(text),
}

CASES = [(name, key) for name, entry in EXPECTED.items() for key in entry if key != "kind"]


def plain(value: Any) -> Any:
    """Return a value as JSON has it: lists for tuples, texts for keys."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize(
    ("name", "key"), CASES, ids=[f"{name.removesuffix('.txt')}-{key}" for name, key in CASES]
)
def test_capture_is_read_as_expected(name: str, key: str):
    entry = EXPECTED[name]
    found = plain(ADAPTERS[entry["kind"]](text_of(name), key))
    wanted = entry[key]
    if key == "rail":
        assert wanted in found
    elif key == "rail_mw":
        assert found[entry["rail"]] == wanted
    elif key == "ignored":
        assert found == sorted(wanted)
    else:
        assert found == wanted
        # 0 for what is not known, or True for 1, would be equal and wrong.
        assert type(found) is type(wanted) or {type(found), type(wanted)} == {int, float}


def test_every_capture_has_expectations():
    captures = {path.name for path in FOLDER.glob("*.txt")}
    assert captures == set(EXPECTED)
    assert len(captures) == 58
