"""One line of tegrastats, of any JetPack from 4 to 7."""

from __future__ import annotations

import re

import msgspec

_RAM = re.compile(r"\bRAM ([0-9]{1,9})/([0-9]{1,9})MB")
_CPUS = re.compile(r"\bCPU \[([^\]]{0,2048})\]")
# Without its bracket or blank a clock was cut in the middle of its number.
_GPU = re.compile(r"\bGR3D_FREQ (?:([0-9]{1,3})%)?(?:@\[([0-9,]{1,99})\]|@([0-9]{1,9})(?=\s))?")
_TEMPERATURE = re.compile(
    r"(?<![\w-])([A-Za-z][\w-]{0,31})@(-?[0-9]{1,4}(?:\.[0-9]{1,6})?)C(?:/-?[0-9.]{1,12}C)?(?=\s|$)"
)
_RAIL = re.compile(
    r"(?<=\s)([A-Z][A-Z0-9_]{0,31}) ([0-9]{1,9})(?:mW)?/[0-9]{1,9}(?:mW)?(?:/[0-9]{1,9}mW)?(?=\s|$)"
)
_OFF_C = -200.0
"""A sensor without power reads -256 C."""


class Tegrastats(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `ram` is MB used and in all; `gpu_mhz` 0 is power-gated, None not shown (no root).

    `temperatures` are degrees Celsius by zone in lower case, without sensors that are off; `rails` are
    milliwatts now by name. `cpu_off` counts CPUs that are switched off.
    """

    ram: tuple[int, int] | None = None
    gpu_util: int | None = None
    gpu_mhz: int | None = None
    temperatures: dict[str, float] = {}
    rails: dict[str, int] = {}
    cpu_off: int | None = None

    @property
    def temp_tj(self) -> float | None:
        """The hottest junction, where the board has that zone."""
        return self.temperatures.get("tj")

    @property
    def temp_gpu(self) -> float | None:
        """The GPU's zone."""
        return self.temperatures.get("gpu")


def read_tegrastats(text: str) -> Tegrastats:
    """Read the last complete line of a stream, which may begin and end in the middle of one.

    A text of one line alone need not end in a line feed.
    """
    line = _last_complete(text)
    ram, cpus, gpu = _RAM.search(line), _CPUS.search(line), _GPU.search(line)
    shown = ((gpu[2] or gpu[3] or "") if gpu else "").split(",")
    clocks = [int(rate) for rate in shown if re.fullmatch("[0-9]{1,9}", rate)]
    zones = {name.lower(): float(value) for name, value in _TEMPERATURE.findall(line)}
    return Tegrastats(
        ram=(int(ram[1]), int(ram[2])) if ram else None,
        gpu_util=int(gpu[1]) if gpu and gpu[1] else None,
        gpu_mhz=max(clocks, default=None),
        temperatures={name: celsius for name, celsius in zones.items() if celsius > _OFF_C},
        rails={name: int(now) for name, now in _RAIL.findall(line)},
        cpu_off=[cpu.strip() for cpu in cpus[1].split(",")].count("off") if cpus else None,
    )


def _last_complete(text: str) -> str:
    """Return the last line that is complete: it shows the memory, which comes first, and it ends."""
    *ended, rest = text.split("\n")
    lines = [f"{line}\n" for line in ended] or [rest]
    return next((line for line in reversed(lines) if _RAM.search(line)), "")
