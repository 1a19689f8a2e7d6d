"""Android's thermal service: sensors that are off, throttling, and a HAL that is not there."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.thermalservice import ThermalService, read_thermalservice
from tests.drivers.readings.captures import text_of

DUMP = text_of("android_thermal_volts_percent.txt")


@pytest.mark.parametrize(("status", "verdict"), [(0, "ok"), (1, "ok"), (2, "throttled"), (6, "throttled")])
def test_throttled_from_moderate_on(status: int, verdict: str):
    assert read_thermalservice(DUMP.replace("Status: 1\n", f"Status: {status}\n")).verdict == verdict


def test_a_hal_that_is_not_ready_makes_what_it_lists_worthless():
    found = read_thermalservice(DUMP.replace("HAL Ready: true", "HAL Ready: false"))
    assert (found.verdict, found.temperatures, found.cooling_active) == ("unknown", (), None)


def test_a_dump_that_does_not_tell_the_status_is_unknown():
    assert read_thermalservice(DUMP.replace("Thermal Status: 1", "")).verdict == "unknown"
    assert read_thermalservice("Permission Denial: can't dump thermalservice\n") == ThermalService()


def hal(*lines: str) -> ThermalService:
    shown = "".join(f"\t{line}\n" for line in lines)
    return read_thermalservice(f"Thermal Status: 0\nHAL Ready: true\nCurrent temperatures from HAL:\n{shown}")


@pytest.mark.parametrize("value", ["-99.9", "NaN", "1.2.3", "-", ""])
def test_a_sensor_that_is_off_is_no_temperature(value: str):
    found = hal(f"Temperature{{mValue={value}, mType=3, mName=SKIN, mStatus=0}}")
    assert (found.skin_c, found.hottest_c) == (None, None)


def test_long_fractions_of_java_and_frost():
    found = hal(
        "Temperature{mValue=5.3000002, mType=2, mName=battery, mStatus=0}",
        "Temperature{mValue=-4.7999997138977, mType=3, mName=skin, mStatus=0}",
    )
    assert (found.battery_c, found.skin_c) == (5.3000002, -4.7999997138977)


def test_cooling_of_cpus_alone_counts():
    idle = DUMP.replace(
        "mValue=2, mType=2, mName=thermal-cpufreq-7", "mValue=0, mType=2, mName=thermal-cpufreq-7"
    )
    assert read_thermalservice(idle).cooling_active == 0
    assert hal("Temperature{mValue=40.0, mType=0, mName=CPU0, mStatus=0}").cooling_active is None


def test_a_threshold_that_is_not_set_is_unknown():
    assert read_thermalservice(DUMP.replace("43.5", "NaN")).skin_severe_c is None
