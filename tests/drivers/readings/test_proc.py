"""What every Linux tells of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.drivers.readings.proc import (
    CpuTicks,
    LoadAverage,
    read_boot_id,
    read_cpu_ticks,
    read_epoch_s,
    read_load_average,
    read_system_name,
    read_tree_strings,
    read_uptime_s,
)


def test_this_machine():
    proc = Path("/proc")
    assert read_load_average((proc / "loadavg").read_text()).fifteen_min is not None
    ticks = read_cpu_ticks((proc / "stat").read_text())
    assert ticks.busy is not None
    assert ticks.total is not None
    assert 0 < ticks.busy <= ticks.total
    assert (read_uptime_s((proc / "uptime").read_text()) or 0) > 0
    assert read_boot_id((proc / "sys/kernel/random/boot_id").read_text()) is not None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0.52 1.20 3.00 2/345 6789\n", LoadAverage(0.52, 1.2, 3.0)),
        ("0.52 1.2", LoadAverage(0.52, 1.2, None)),
        ("nan inf x\n", LoadAverage()),
        ("", LoadAverage()),
    ],
)
def test_load(text: str, wanted: LoadAverage):
    assert read_load_average(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # user nice system idle iowait irq softirq steal guest guest_nice
        (
            "cpu  10 1 5 100 20 2 3 4 9 9\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5\n",
            CpuTicks(busy=25, total=145, cores=2),
        ),
        ("cpu  10 1 5 100 20\n", CpuTicks(busy=16, total=136)),
        ("cpu  10 1 5 100\n", CpuTicks()),
        ("cpu  10 1 x 100 20 2 3 4\ncpu0 1\n", CpuTicks(cores=1)),
        ("cpu0 1 2 3 4 5\n", CpuTicks(cores=1)),
        ("cat: /proc/stat: Permission denied\n", CpuTicks()),
        ("", CpuTicks()),
    ],
)
def test_ticks(text: str, wanted: CpuTicks):
    assert read_cpu_ticks(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("41.70 12.3\n", 41.7), ("88111.2", 88111.2), ("-1.0 0", None), ("x", None), ("", None)],
)
def test_uptime(text: str, wanted: float | None):
    assert read_uptime_s(text) == wanted


@pytest.mark.parametrize("text", ["", "1-2-3", "8d7f\n", "cat: /proc/x: Permission denied", "a" * 36])
def test_what_is_no_boot_id_is_unknown(text: str):
    assert read_boot_id(text) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("NVIDIA Jetson AGX Orin Developer Kit\0", ("NVIDIA Jetson AGX Orin Developer Kit",)),
        ("radxa,rock-5b\0rockchip,rk3588\0", ("radxa,rock-5b", "rockchip,rk3588")),
        ("Radxa ROCK 5B\0\n", ("Radxa ROCK 5B",)),
        ("\0\0\n", ()),
        ("", ()),
    ],
)
def test_strings_of_the_device_tree(text: str, wanted: tuple[str, ...]):
    assert read_tree_strings(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n', "Ubuntu 22.04.5 LTS"),
        ("PRETTY_NAME='Armbian 25.2'\r\n", "Armbian 25.2"),
        ("PRETTY_NAME=Buildroot\n", "Buildroot"),
        ('PRETTY_NAME=""\nNAME="x"\n', None),
        ('PRETTY_NAME="Ubuntu 22', None),
        ("", None),
    ],
)
def test_the_name_of_the_system(text: str, wanted: str | None):
    assert read_system_name(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1764576000.250000000\n", 1764576000.25),
        ("1764576000\n", 1764576000.0),
        # busybox and BSD know no %N.
        ("1764576000.N\n", 1764576000.0),
        ("1764576000.%N\n", 1764576000.0),
        ("date: invalid option\n", None),
        ("", None),
    ],
)
def test_the_time(text: str, wanted: float | None):
    assert read_epoch_s(text) == wanted
