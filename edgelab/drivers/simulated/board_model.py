"""What a kind of simulated board consists of."""

from __future__ import annotations

from typing import Literal

import msgspec

DEVFREQ = "sys/class/devfreq"
CPUFREQ = "sys/devices/system/cpu/cpufreq"
CPU_GOVERNORS = ("conservative", "ondemand", "userspace", "powersave", "performance", "schedutil")


Kind = Literal["gpu", "cpu", "memory", "npu"]


class ClockModel(msgspec.Struct, frozen=True, kw_only=True):
    """One clock and its folder of nodes. Frequencies in Hz; `unit_hz` is one step of the nodes' numbers.

    `tree_name` is its name in the device tree; `mode_name` that in nvpmodel's conf, whose modes cap it.
    """

    folder: str
    kind: Kind
    steps_hz: tuple[int, ...]
    governor: str
    governors: tuple[str, ...]
    cpus: tuple[int, ...] = ()
    unit_hz: int = 1
    tree_name: str = ""
    mode_name: str = ""

    def node(self, name: str) -> str:
        """Return the path of one of its nodes, such as `cur_freq`."""
        return f"{self.folder}/scaling_{name}" if self.kind == "cpu" else f"{self.folder}/{name}"

    @property
    def set_point(self) -> str | None:
        """The node that tells the governor `userspace` what to hold; None where none is served."""
        return f"{self.folder}/userspace/set_freq" if self.kind != "cpu" else None


class BoardModel(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of board: files as they are at boot, links, clocks, zones in degrees Celsius, stand-in tools.

    From `trip_c` on the board slows itself down, which its `cooling` devices (their types) show. Android
    does not show a system's load (`shows_load`).
    """

    files: dict[str, str]
    links: dict[str, str] = {}
    clocks: tuple[ClockModel, ...]
    zones_c: dict[str, float]
    cooling: tuple[str, ...] = ()
    trip_c: float | None = None
    tools: dict[str, str]
    memory_kib: int
    cores: int
    shows_load: bool = True

    @property
    def hottest(self) -> str:
        """The zone that is hottest at rest."""
        return max(self.zones_c, key=lambda zone: self.zones_c[zone])
