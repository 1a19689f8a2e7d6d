"""Thermal zones: those without power, constants, order and names."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.zones import read_zones

ROOT = "/sys/class/thermal/thermal_zone"


def zone(number: int, name: str, temp: str | None) -> dict[str, str]:
    temps = {} if temp is None else {f"{ROOT}{number}/temp": temp}
    return {f"{ROOT}{number}/type": f"{name}\n"} | temps


@pytest.mark.parametrize("temp", [None, "", "0", "-256000", "-1", "cat", "999000", "9" * 30])
def test_a_zone_without_a_temperature_is_ignored_by_name(temp: str | None):
    found = read_zones(zone(0, "cv0-thermal", temp))
    assert (found.known, found.ignored, found.hottest) == ((), ("cv0-thermal",), None)


def test_zone_ten_comes_after_zone_two():
    found = read_zones(zone(10, "tj-thermal", "50000") | zone(2, "gpu-thermal", "49000"))
    assert [known.name for known in found.known] == ["gpu-thermal", "tj-thermal"]
    assert found.hottest is not None
    assert (found.hottest.celsius, found.hottest.node) == (50.0, f"{ROOT}10/temp")


@pytest.mark.parametrize("name", ["GPU-therm", "gpu-thermal", "gpu"])
def test_a_zone_by_name_in_any_style(name: str):
    assert read_zones(zone(0, name, "41500")).celsius("gpu") == 41.5


def test_a_name_that_only_begins_alike_is_another_zone():
    assert read_zones(zone(0, "gpu0-thermal", "41500")).celsius("gpu") is None


def test_the_constant_zone_never_is_the_hottest():
    found = read_zones(zone(0, "PMIC-Die", "100000") | zone(1, "CPU-therm", "39500"))
    assert found.hottest is not None
    assert (found.hottest.name, found.ignored) == ("CPU-therm", ("PMIC-Die",))


def test_other_nodes_are_no_zones():
    assert (
        read_zones({"/sys/class/thermal/cooling_device0/cur_state": "1", f"{ROOT}0/temp": "50000"}).known
        == ()
    )
