"""Simulated RK3588 board (Radxa ROCK 5B) with a vendor's kernel: nodes and clocks as at boot."""

from __future__ import annotations

from edgelab.drivers.simulated import tools
from edgelab.drivers.simulated.board_model import (
    CPU_GOVERNORS,
    CPUFREQ,
    DEVFREQ,
    BoardModel,
    ClockModel,
    Kind,
)

GPU = f"{DEVFREQ}/fb000000.gpu"
CLOCK_TREE = "sys/kernel/debug/clk/clk_summary"

_MHZ = 1_000_000
_STEPS_HZ = tuple(step * _MHZ for step in range(300, 1001, 100))
# The kernel lists the governors of all devices for each of them.
_GOVERNORS = ("rknpu_ondemand", "dmc_ondemand", "userspace", "powersave", "performance", "simple_ondemand")
_DEVFREQ: tuple[tuple[str, Kind, tuple[int, ...], str], ...] = (
    (GPU, "gpu", _STEPS_HZ, "simple_ondemand"),
    (f"{DEVFREQ}/fdab0000.npu", "npu", _STEPS_HZ, "rknpu_ondemand"),
    (f"{DEVFREQ}/dmc", "memory", tuple(step * _MHZ for step in (528, 1068, 1560, 2112)), "dmc_ondemand"),
)
_CLUSTERS = (
    (0, (0, 1, 2, 3), (408, 600, 1008, 1416, 1608, 1800)),
    (4, (4, 5), (408, 1008, 1416, 1800, 2208, 2352)),
    (6, (6, 7), (408, 1008, 1416, 1800, 2208, 2352)),
)
_ZONES = ("soc", "bigcore0", "bigcore1", "littlecore", "center", "gpu", "npu")


def _cpus() -> tuple[ClockModel, ...]:
    return tuple(
        ClockModel(
            folder=f"{CPUFREQ}/policy{policy}",
            kind="cpu",
            steps_hz=tuple(step * _MHZ for step in steps),
            governor="ondemand",
            governors=CPU_GOVERNORS,
            cpus=cores,
            unit_hz=1000,
        )
        for policy, cores, steps in _CLUSTERS
    )


def rk3588() -> BoardModel:
    """Return the board."""
    devices = tuple(
        ClockModel(
            folder=folder,
            kind=kind,
            steps_hz=steps_hz,
            governor=governor,
            governors=_GOVERNORS,
            tree_name="dmc" if kind == "memory" else kind,
        )
        for folder, kind, steps_hz, governor in _DEVFREQ
    )
    return BoardModel(
        files={
            "proc/device-tree/model": "Radxa ROCK 5B\0",
            "proc/device-tree/compatible": "radxa,rock-5b\0rockchip,rk3588\0",
            "etc/os-release": 'PRETTY_NAME="Armbian 24.11 bookworm"\nNAME="Debian GNU/Linux"\nID=debian\n',
            "sys/devices/platform/fb000000.gpu/power_policy": "[coarse_demand] always_on\n",
            "sys/kernel/debug/rknpu/load": "NPU load:  Core0:  0%, Core1:  0%, Core2:  0%,\n",
        },
        links={"sys/devices/platform/fb000000.gpu/devfreq/fb000000.gpu": GPU},
        clocks=(*devices, *_cpus()),
        zones_c={f"{name}-thermal": 43.9 if name == "bigcore1" else 43.0 for name in _ZONES},
        # Passive cooling of the vendor's device tree.
        trip_c=85.0,
        cooling=("cpufreq-cpu0", "cpufreq-cpu4", "cpufreq-cpu6", "devfreq-fb000000.gpu"),
        tools=tools.COMMON,
        memory_kib=16_200_000,
        cores=8,
    )
