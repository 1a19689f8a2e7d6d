"""Android's battery service."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.battery import Battery, read_battery


def test_a_scale_other_than_a_hundred_and_frost():
    found = read_battery("  status: 2\n  level: 50\n  scale: 200\n  voltage: 4102\n  temperature: -35\n")
    assert found == Battery(percent=25.0, temp_c=-3.5, voltage_mv=4102, charging=True)


@pytest.mark.parametrize(("level", "scale"), [("50", "0"), ("-1", "100"), ("50", "x"), ("", "100")])
def test_a_charge_without_a_scale_is_unknown(level: str, scale: str):
    assert read_battery(f"  level: {level}\n  scale: {scale}\n").percent is None


@pytest.mark.parametrize(("status", "charging"), [(1, None), (2, True), (3, False), (4, False), (5, False)])
def test_charging_by_status(status: int, charging: bool | None):
    assert read_battery(f"  status: {status}\n").charging is charging


def test_lines_with_like_names_are_not_meant():
    text = "  Capacity level: -1\n  Max charging voltage: 0\n  Charging state: 0\n  Charging status: 2\n"
    assert read_battery(text) == Battery()
    assert read_battery("Permission Denial: can't dump battery\n") == Battery()
