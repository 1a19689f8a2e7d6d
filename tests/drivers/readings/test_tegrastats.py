"""Lines of tegrastats that are cut, off, or of boards beyond the captures."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.tegrastats import Tegrastats, read_tegrastats
from tests.drivers.readings.captures import text_of

LINE = "RAM 7001/62841MB (lfb 9x4MB) CPU [0%@729,off] GR3D_FREQ 2%@[1299,1300] cpu@50C tj@51.5C VDD_GPU_SOC 2000mW/1900mW\n"


@pytest.mark.parametrize(
    ("gpu", "util", "mhz"),
    [
        ("GR3D_FREQ 99%@[1300,0]", 99, 1300),
        ("GR3D_FREQ 0%@0", 0, 0),
        ("GR3D_FREQ 0%@[0,0]", 0, 0),
        ("GR3D_FREQ 4%@[305]", 4, 305),
        ("GR3D_FREQ 0%", 0, None),
        ("GR3D_FREQ @[1,2]", None, 2),
        ("GR3D_FREQ off", None, None),
        ("GR3D2_FREQ 7%@100", None, None),
    ],
)
def test_load_and_clock_of_the_gpu(gpu: str, util: int | None, mhz: int | None):
    found = read_tegrastats(LINE.replace("GR3D_FREQ 2%@[1299,1300]", gpu))
    assert (found.gpu_util, found.gpu_mhz) == (util, mhz)


@pytest.mark.parametrize("end", range(len(LINE)))
def test_a_line_that_was_cut_says_less_and_nothing_wrong(end: int):
    whole, cut = read_tegrastats(LINE), read_tegrastats(LINE[:end])
    for field in ("ram", "gpu_util", "gpu_mhz", "cpu_off"):
        assert getattr(cut, field) in (None, getattr(whole, field))
    assert cut.temperatures.items() <= whole.temperatures.items()
    assert cut.rails.items() <= whole.rails.items()


def test_the_last_line_that_ends_counts():
    later = LINE.replace("7001", "7002")
    assert read_tegrastats(LINE + later).ram == (7002, 62841)
    assert read_tegrastats(LINE + later.rstrip("\n")).ram == (7001, 62841)
    assert read_tegrastats("4MB) CPU [0%@729] GR3D_FREQ 5%\n" + LINE[:40]) == Tegrastats()
    assert read_tegrastats(LINE + "tegrastats: stopped\n").ram == (7001, 62841)


def test_temperatures_below_zero_are_known_and_sensors_that_are_off_are_not():
    found = read_tegrastats(LINE.replace("cpu@50C", "cpu@-3.5C gpu@-256C CV0@-256C/-256C"))
    assert found.temperatures == {"cpu": -3.5, "tj": 51.5}
    assert found.temp_gpu is None


def test_memory_is_no_rail_and_zones_are_none():
    found = read_tegrastats(text_of("tegrastats_jp4_xavier_rails_like_zones.txt"))
    assert not {"RAM", "SWAP", "IRAM", "PMIC"} & set(found.rails)
    assert found.temperatures["gpu"] == 46.5


def test_nothing_is_nothing():
    assert read_tegrastats("") == read_tegrastats("tegrastats: command not found\n") == Tegrastats()
