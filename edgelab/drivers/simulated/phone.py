"""Simulated phone with a Snapdragon 8 Gen 3, as a login through an sshd of the shell's user finds it."""

from __future__ import annotations

from edgelab.drivers.simulated import phone_tools, tools
from edgelab.drivers.simulated.board_model import CPUFREQ, BoardModel, ClockModel

_CLUSTERS = (
    (0, (0, 1), (364_800, 1_497_600, 2_265_600)),
    (2, (2, 3, 4), (499_200, 1_958_400, 3_148_800)),
    (5, (5, 6), (499_200, 1_958_400, 2_956_800)),
    (7, (7,), (480_000, 2_054_400, 3_302_400)),
)


def phone() -> BoardModel:
    """Return the phone. It has no /proc/stat and /proc/loadavg: Android denies them (termux-app issue 299)."""
    cpus = tuple(
        ClockModel(
            folder=f"{CPUFREQ}/policy{policy}",
            kind="cpu",
            steps_hz=tuple(khz * 1000 for khz in steps),
            governor="walt",
            governors=("walt", "conservative", "powersave", "performance", "schedutil"),
            cpus=cores,
            unit_hz=1000,
        )
        for policy, cores, steps in _CLUSTERS
    )
    return BoardModel(
        files={
            "etc/edgelab/properties": "ro.soc.model=SM8650\nro.product.model=Lab Phone\n"
            "ro.build.version.release=14\n",
            "sys/class/kgsl/kgsl-3d0/gpubusypercentage": "0 %\n",
            # Lies among the policies and is none.
            f"{CPUFREQ}/boost": "0\n",
        },
        clocks=cpus,
        zones_c={"cpu-0-0": 38.0, "cpuss-0": 39.5, "skin": 33.0},
        tools={**tools.COMMON, **phone_tools.PHONE},
        memory_kib=15_589_012,
        cores=8,
        shows_load=False,
    )
