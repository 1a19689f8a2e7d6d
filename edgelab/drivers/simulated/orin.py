"""Simulated Jetson AGX Orin 64 GB with JetPack 6.2: nodes, power modes and clocks as at boot.

Modes, masks and caps are those of NVIDIA's nvpmodel conf for the P3701-0005. One thing is left out: 15 W and
30 W also switch CPUs off.
"""

from __future__ import annotations

from edgelab.drivers.simulated import jetson_tools, tools
from edgelab.drivers.simulated.board_model import CPU_GOVERNORS, CPUFREQ, DEVFREQ, BoardModel, ClockModel

GPU = f"{DEVFREQ}/17000000.gpu"
EMC = "sys/kernel/debug/bpmp/debug/clk/emc"
EMC_IDLE_HZ, EMC_MAX_HZ = 2_133_000_000, 3_199_000_000
COUNTERS = "sys/class/hwmon/hwmon4"
STATUS = "var/lib/nvpmodel/status"
CONF = "etc/nvpmodel.conf"
TPC_MASK = "sys/devices/platform/gpu.0/tpc_pg_mask"
GPU_LOAD = "sys/devices/platform/gpu.0/load"
REAL_CLOCKS = tuple(f"sys/kernel/debug/bpmp/debug/clk/nafll_gpc{number}/pto_counter" for number in (0, 1))
GPU_UNITS = 8

_GPU_HZ = tuple(int(mhz * 1e6) for mhz in (306, 408, 510, 612, 714, 816, 918, 1020, 1122, 1224, 1300.5))
_CPU_KHZ = (729600, 1113600, 1190400, 1497600, 1574400, 1728000, 1971200, 2112000, 2201600)
_MODES = (
    # Number, name, mask of GPU units that are off, caps of GPU (Hz) and CPUs (kHz); -1 is none.
    (0, "MAXN", 0, -1, -1),
    (1, "MODE_15W", 248, 408_000_000, 1_113_600),
    (2, "MODE_30W", 240, 612_000_000, 1_728_000),
    (3, "MODE_50W", 0, 816_000_000, 1_497_600),
)
_POLICIES = (0, 4, 8)


def _conf() -> str:
    lines = ["< PARAM TYPE=FILE NAME=TPC_POWER_GATING >", f"TPC_PG_MASK /{TPC_MASK}", ""]
    folders = {"GPU": ("/sys/devices/platform/17000000.gpu/devfreq_dev", "")}
    folders |= {
        f"CPU_A78_{cluster}": (f"/sys/devices/system/cpu/cpu{first}/cpufreq", "scaling_")
        for cluster, first in enumerate(_POLICIES)
    }
    for name, (folder, prefix) in folders.items():
        lines += [f"< PARAM TYPE=CLOCK NAME={name} >", f"FREQ_TABLE {folder}/{prefix}available_frequencies"]
        lines += [f"{arg}_FREQ {folder}/{prefix}{arg.lower()}_freq" for arg in ("MAX", "MIN")]
        lines.append("")
    for number, mode, mask, gpu_hz, cpu_khz in _MODES:
        lines += [f"< POWER_MODEL ID={number} NAME={mode} >", f"TPC_POWER_GATING TPC_PG_MASK {mask}"]
        lines += ["GPU MIN_FREQ 0", f"GPU MAX_FREQ {gpu_hz}"]
        for cluster in range(len(_POLICIES)):
            lines += [f"CPU_A78_{cluster} MIN_FREQ {_CPU_KHZ[0]}", f"CPU_A78_{cluster} MAX_FREQ {cpu_khz}"]
        lines.append("")
    return "\n".join([*lines, "< PM_CONFIG DEFAULT=2 >", ""])


def _files() -> dict[str, str]:
    return {
        "proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
        "proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0",
        "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, "
        "DATE: Wed Jan  8 01:49:37 UTC 2025\n# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia\n",
        "etc/os-release": 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nID=ubuntu\n',
        CONF: _conf(),
        STATUS: "pmode:0003\n",
        TPC_MASK: "0\n",
        GPU_LOAD: "0\n",
        f"{COUNTERS}/name": "soctherm_oc\n",
        **{f"{COUNTERS}/oc{number}_throt_en": "1\n" for number in (1, 2, 3)},
        "sys/class/hwmon/hwmon0/name": "pwmfan\n",
        "sys/class/hwmon/hwmon0/pwm1": "72\n",
        f"{EMC}/rate": f"{EMC_IDLE_HZ}\n",
        f"{EMC}/min_rate": "204000000\n",
        f"{EMC}/max_rate": f"{EMC_MAX_HZ}\n",
        f"{EMC}/mrq_rate_locked": "0\n",
        "etc/edgelab/idle_states": "1\n",
    }


def orin() -> BoardModel:
    """Return the board. Whoever set it up left it in 50 W."""
    gpu = ClockModel(
        folder=GPU,
        kind="gpu",
        steps_hz=_GPU_HZ,
        governor="nvhost_podgov",
        governors=("nvhost_podgov", "userspace", "performance", "simple_ondemand"),
        tree_name="gpu",
        mode_name="GPU",
    )
    cpus = tuple(
        ClockModel(
            folder=f"{CPUFREQ}/policy{first}",
            kind="cpu",
            steps_hz=tuple(khz * 1000 for khz in _CPU_KHZ),
            governor="schedutil",
            governors=CPU_GOVERNORS,
            cpus=tuple(range(first, first + 4)),
            unit_hz=1000,
            mode_name=f"CPU_A78_{cluster}",
        )
        for cluster, first in enumerate(_POLICIES)
    )
    return BoardModel(
        files=_files(),
        links={"sys/devices/platform/17000000.gpu/devfreq_dev": GPU},
        clocks=(gpu, *cpus),
        zones_c={"cpu-thermal": 44.5, "gpu-thermal": 43.0, "soc0-thermal": 45.1, "tj-thermal": 46.2},
        # NVIDIA's software throttling of the junction begins at 99 C.
        trip_c=99.0,
        cooling=("pwm-fan", "cpufreq-cpu0", "cpufreq-cpu4", "cpufreq-cpu8", "devfreq-17000000.gpu"),
        tools={**tools.COMMON, **jetson_tools.JETSON},
        memory_kib=64_349_000,
        cores=12,
    )
