"""What jetson_clocks shows when a part is missing, in another order, or of another board."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.jetson_clocks import JetsonClocks, read_jetson_clocks
from tests.drivers.readings.captures import text_of

LOCKED = text_of("jetson_clocks_jp7_maxn_locked.txt")


def without(start: str) -> JetsonClocks:
    return read_jetson_clocks("".join(line for line in LOCKED.splitlines(True) if not line.startswith(start)))


@pytest.mark.parametrize("row", ["GPU ", "EMC ", "cpu"])
def test_a_missing_row_leaves_the_lock_unknown(row: str):
    assert without(row).locked is None
    assert without(row).session_ok is None


def test_without_rows_of_cpus_their_number_is_unknown():
    found = without("cpu")
    assert (found.cpu_online, found.cpu_offline, found.cpus_held) == (None, None, None)


def test_one_clock_that_is_free_decides_whatever_is_missing():
    free = "GPU MinFreq=306000000 MaxFreq=1300500000 CurrentFreq=1300500000\n"
    assert read_jetson_clocks(free).locked is False
    assert read_jetson_clocks(free).session_ok is False


def test_the_gpu_below_its_limits_is_not_locked():
    assert (
        read_jetson_clocks(LOCKED.replace("CurrentFreq=1300500000", "CurrentFreq=1224000000")).locked is False
    )


def test_one_free_cpu_is_enough():
    free = LOCKED.replace(
        "cpu7:  Governor=performance MinFreq=2188800", "cpu7:  Governor=performance MinFreq=729600"
    )
    assert read_jetson_clocks(free).locked is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Active GPU TPCs: 8", "Active GPU TPCs: 7"),
        ("NV Power Mode: MAXN", "NV Power Mode: MODE_50W"),
        ("=1300500000", "=1275000000"),
    ],
)
def test_locked_but_not_fit_for_a_session(old: str, new: str):
    found = read_jetson_clocks(LOCKED.replace(old, new))
    assert (found.locked, found.session_ok) == (True, False)


def test_fitness_is_unknown_without_the_units_and_the_mode_decides_before_that():
    assert without("Active").session_ok is None
    assert read_jetson_clocks(text_of("jetson_clocks_jp5_xavier_locked.txt")).session_ok is False


def test_a_maxn_of_another_name_is_a_maxn():
    assert read_jetson_clocks(LOCKED.replace("Mode: MAXN", "Mode: MAXN_SUPER")).session_ok is True


def test_the_row_of_thor_is_named_after_its_node():
    found = read_jetson_clocks(
        "gpu-gpc-0 MinFreq=1575000000 MaxFreq=1575000000 CurrentFreq=1575000000\n"
        "gpu-nvd-0 MinFreq=1692000000 MaxFreq=1692000000 CurrentFreq=1692000000\n"
    )
    assert found.gpu_hz == (1575000000, 1575000000, 1575000000)


def test_offline_cpus_may_be_listed_in_several_ranges():
    found = read_jetson_clocks(LOCKED.replace("Offline CPUs: ", "Offline CPUs: 4-5,7,10-11"))
    assert found.cpu_offline == 5


def test_the_switch_of_a_fan_is_not_its_speed():
    fan = "FAN Dynamic Speed Control=nvfancontrol hwmon3_pwm1"
    assert read_jetson_clocks(f"{fan}_enable=1\n{fan}=40\n").fan_pwm == 40
    assert read_jetson_clocks(f"{fan}_enable=1\n").fan_pwm is None


def test_a_refusal_shows_nothing():
    assert read_jetson_clocks(text_of("error_jetson_clocks_nonroot_show.txt")) == JetsonClocks()
