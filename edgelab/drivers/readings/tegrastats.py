"""One line of tegrastats, of any JetPack from 4 to 7."""

from __future__ import annotations

import re

import msgspec

_RAM = re.compile(r"\bRAM ([0-9]{1,9})/([0-9]{1,9})MB")
_CPUS = re.compile(r"\bCPU \[([^\]]*)\]")
_GPU = re.compile(r"\bGR3D_FREQ (?:([0-9]{1,3})%)?(?:@\[?([0-9,]+)\]?)?")
_TEMPERATURE = re.compile(r"\b([A-Za-z][\w-]*)@(-?[0-9]{1,4}(?:\.[0-9]{1,6})?)C(?:/-?[0-9.]{1,12}C)?(?=\s|$)")
_RAIL = re.compile(
    r"(?<=\s)([A-Z][A-Z0-9_]*) ([0-9]{1,9})(?:mW)?/[0-9]{1,9}(?:mW)?(?:/[0-9]{1,9}mW)?(?=\s|$)"
)
_NOT_RAILS = frozenset({"RAM", "SWAP", "IRAM"})
_OFF_C = -200.0


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
    """Read the last complete line of a stream, which may begin and end in the middle of one."""
    lines = text.splitlines(keepends=True)
    whole = [line for line in lines if _RAM.search(line) and _GPU.search(line)]
    ended = [line for line in whole if line.endswith("\n")] or (whole if len(lines) == 1 else [])
    if not ended:
        return Tegrastats()
    line = ended[-1].strip()
    ram, cpus, gpu = _RAM.search(line), _CPUS.search(line), _GPU.search(line)
    clocks = [int(rate) for rate in (gpu[2] or "").split(",") if rate] if gpu else []
    zones = {name.lower(): float(value) for name, value in _TEMPERATURE.findall(line)}
    return Tegrastats(
        ram=(int(ram[1]), int(ram[2])) if ram else None,
        gpu_util=int(gpu[1]) if gpu and gpu[1] else None,
        gpu_mhz=max(clocks) if clocks else None,
        temperatures={name: celsius for name, celsius in zones.items() if celsius > _OFF_C},
        rails={name: int(now) for name, now in _RAIL.findall(line) if name not in _NOT_RAILS},
        cpu_off=cpus[1].split(",").count("off") if cpus else None,
    )
