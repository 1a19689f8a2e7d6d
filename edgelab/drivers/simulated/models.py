"""The kinds of simulated boards: what their nodes hold when they are switched on."""

from __future__ import annotations

import msgspec

from edgelab.drivers.simulated import tools


class ClockModel(msgspec.Struct, frozen=True, kw_only=True):
    """One clock and its folder of nodes. Frequencies in Hz; `unit_hz` is one step of the nodes' numbers."""

    folder: str
    kind: str
    steps_hz: tuple[int, ...]
    governor: str
    governors: tuple[str, ...]
    cpus: tuple[int, ...] = ()
    unit_hz: int = 1


class BoardModel(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of board: files as they are at boot, clocks, zones in degrees Celsius, and stand-in tools."""

    files: dict[str, str]
    clocks: tuple[ClockModel, ...]
    zones_c: dict[str, float]
    tools: dict[str, str]
    memory_kib: int
    cores: int
    power_modes: tuple[str, ...] = ()


_DEVFREQ = "sys/class/devfreq"
_CPUFREQ = "sys/devices/system/cpu/cpufreq"
_CPU_GOVERNORS = ("conservative", "ondemand", "userspace", "powersave", "performance", "schedutil")

_NVPMODEL_CONF = """\
< PARAM TYPE=FILE NAME=TPC_POWER_GATING >
TPC_PG_MASK /sys/devices/platform/gpu.0/tpc_pg_mask
< PARAM TYPE=CLOCK NAME=GPU >
MAX_FREQ /sys/devices/platform/17000000.gpu/devfreq_dev/max_freq

< POWER_MODEL ID=0 NAME=MAXN >
TPC_POWER_GATING TPC_PG_MASK 0
GPU MAX_FREQ -1

< POWER_MODEL ID=1 NAME=MODE_15W >
TPC_POWER_GATING TPC_PG_MASK 248
GPU MAX_FREQ 408000000

< POWER_MODEL ID=2 NAME=MODE_30W >
TPC_POWER_GATING TPC_PG_MASK 240
GPU MAX_FREQ 612000000

< POWER_MODEL ID=3 NAME=MODE_50W >
TPC_POWER_GATING TPC_PG_MASK 0
GPU MAX_FREQ 816000000

< PM_CONFIG DEFAULT=2 >
"""

_ORIN_GPU_HZ = tuple(int(mhz * 1e6) for mhz in (306, 408, 510, 612, 714, 816, 918, 1020, 1122, 1224, 1300.5))
_ORIN_CPU_HZ = tuple(khz * 1000 for khz in (729600, 1190400, 1574400, 1971200, 2112000, 2201600))


def _orin() -> BoardModel:
    gpu = ClockModel(
        folder=f"{_DEVFREQ}/17000000.gpu",
        kind="gpu",
        steps_hz=_ORIN_GPU_HZ,
        governor="nvhost_podgov",
        governors=("nvhost_podgov", "userspace", "powersave", "performance", "simple_ondemand"),
    )
    cpus = tuple(
        ClockModel(
            folder=f"{_CPUFREQ}/policy{first}",
            kind="cpu",
            steps_hz=_ORIN_CPU_HZ,
            governor="schedutil",
            governors=_CPU_GOVERNORS,
            cpus=tuple(range(first, first + 4)),
            unit_hz=1000,
        )
        for first in (0, 4, 8)
    )
    return BoardModel(
        files={
            "proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
            "proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0",
            "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n",
            "etc/os-release": 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\n',
            "etc/nvpmodel.conf": _NVPMODEL_CONF,
            "var/lib/nvpmodel/status": "pmode:0003\n",
            "sys/devices/platform/gpu.0/load": "0\n",
            "sys/class/hwmon/hwmon3/name": "soctherm_oc\n",
            "etc/edgelab/emc/override": "0\n",
            "etc/edgelab/emc/rate": "2133000000\n",
        },
        clocks=(gpu, *cpus),
        zones_c={"cpu-thermal": 44.5, "gpu-thermal": 43.0, "tj-thermal": 46.2, "soc0-thermal": 45.1},
        tools={**tools.COMMON, **tools.JETSON},
        memory_kib=64_349_000,
        cores=12,
        power_modes=("MAXN", "MODE_15W", "MODE_30W", "MODE_50W"),
    )


def _rk3588() -> BoardModel:
    mhz = 1_000_000
    governors = ("dmc_ondemand", "userspace", "powersave", "performance", "simple_ondemand")
    gpu = ClockModel(
        folder=f"{_DEVFREQ}/fb000000.gpu",
        kind="gpu",
        steps_hz=tuple(step * mhz for step in range(300, 1001, 100)),
        governor="simple_ondemand",
        governors=governors,
    )
    npu = ClockModel(
        folder=f"{_DEVFREQ}/fdab0000.npu",
        kind="npu",
        steps_hz=tuple(step * mhz for step in range(300, 1001, 100)),
        governor="userspace",
        governors=governors,
    )
    memory = ClockModel(
        folder=f"{_DEVFREQ}/dmc",
        kind="memory",
        steps_hz=(528 * mhz, 1068 * mhz, 1560 * mhz, 2112 * mhz),
        governor="dmc_ondemand",
        governors=governors,
    )
    clusters = (
        (0, (0, 1, 2, 3), (408, 600, 1008, 1416, 1608, 1800)),
        (4, (4, 5), (408, 1008, 1416, 1800, 2208, 2352)),
        (6, (6, 7), (408, 1008, 1416, 1800, 2208, 2352)),
    )
    cpus = tuple(
        ClockModel(
            folder=f"{_CPUFREQ}/policy{policy}",
            kind="cpu",
            steps_hz=tuple(step * mhz for step in steps),
            governor="ondemand",
            governors=_CPU_GOVERNORS,
            cpus=cores,
            unit_hz=1000,
        )
        for policy, cores, steps in clusters
    )
    return BoardModel(
        files={
            "proc/device-tree/model": "Radxa ROCK 5B\0",
            "proc/device-tree/compatible": "radxa,rock-5b\0rockchip,rk3588\0",
            "etc/os-release": 'PRETTY_NAME="Armbian 24.11 bookworm"\nID=debian\n',
        },
        clocks=(gpu, npu, memory, *cpus),
        zones_c=dict.fromkeys(
            ("soc-thermal", "bigcore0-thermal", "bigcore1-thermal", "gpu-thermal", "npu-thermal"), 43.0
        ),
        tools=tools.COMMON,
        memory_kib=16_200_000,
        cores=8,
    )


def _phone() -> BoardModel:
    clusters = (
        (0, (0, 1), (364_800, 1_497_600, 2_265_600)),
        (2, (2, 3, 4), (499_200, 1_958_400, 3_148_800)),
        (5, (5, 6), (499_200, 1_958_400, 2_956_800)),
        (7, (7,), (480_000, 2_054_400, 3_302_400)),
    )
    cpus = tuple(
        ClockModel(
            folder=f"{_CPUFREQ}/policy{policy}",
            kind="cpu",
            steps_hz=tuple(khz * 1000 for khz in steps),
            governor="walt",
            governors=("walt", "conservative", "powersave", "performance", "schedutil"),
            cpus=cores,
            unit_hz=1000,
        )
        for policy, cores, steps in clusters
    )
    return BoardModel(
        files={
            "etc/edgelab/properties": "ro.soc.model=SM8650\nro.product.model=Lab Phone\nro.build.version.release=14\n",
            "sys/class/kgsl/kgsl-3d0/gpubusypercentage": "0 %\n",
        },
        clocks=cpus,
        zones_c={"cpu-0-0": 38.0, "cpuss-0": 39.5, "skin": 33.0},
        tools={**tools.COMMON, **tools.PHONE},
        memory_kib=15_589_012,
        cores=8,
    )


MODELS = {"jetson-agx-orin-64gb": _orin, "rk3588": _rk3588, "snapdragon-8-gen-3": _phone}
"""The kinds of boards by the profile that fits them."""
