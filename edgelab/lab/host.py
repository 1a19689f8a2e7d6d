"""State of this machine: CPU clock, temperature, load, memory, disk. Unknown is None, never 0."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import psutil

_CPU = Path("/sys/devices/system/cpu")
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "acpitz")


_SHORTEST_LOAD_S = 0.1
"""Over less than this the kernel's ticks (10 ms) give no load worth showing."""


class HostState(msgspec.Struct, frozen=True, kw_only=True):
    """One reading. `cpu_freq_source` names the file the clock came from; `sampled_s` is epoch seconds."""

    cpu_model: str | None = None
    cores: int | None = None
    cpu_freq_hz: float | None = None
    cpu_freq_max_hz: float | None = None
    cpu_freq_source: str = ""
    governor: str | None = None
    temperature_c: float | None = None
    load_1min: float | None = None
    cpu_percent: float | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    sampled_s: float = 0.0


class HostSampler:
    """Reads the machine's state. Blocking but short (about a millisecond); call it off the event loop."""

    def __init__(self, disk: Path, *, cpu: Path = _CPU, cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
        self._disk = disk
        self._cpu = cpu
        self._cpuinfo = cpuinfo
        self._primed_s: float | None = None

    def sample(self) -> HostState:
        """Return the present state; a value that cannot be read is None."""
        memory = psutil.virtual_memory()
        freq_hz, source = self._cpu_freq()
        disk = self._disk_usage()
        return HostState(
            cpu_model=self._cpu_model(),
            cores=psutil.cpu_count(),
            cpu_freq_hz=freq_hz,
            cpu_freq_max_hz=_khz(self._cpu / "cpu0/cpufreq/cpuinfo_max_freq"),
            cpu_freq_source=source,
            governor=_text(self._cpu / "cpu0/cpufreq/scaling_governor"),
            temperature_c=_temperature(),
            load_1min=psutil.getloadavg()[0],
            cpu_percent=self._cpu_percent(),
            memory_total_bytes=memory.total,
            memory_available_bytes=memory.available,
            disk_total_bytes=disk[0],
            disk_free_bytes=disk[1],
            sampled_s=time.time(),
        )

    def _cpu_freq(self) -> tuple[float | None, str]:
        """Return the highest present clock over the cores, and where it was read."""
        clocks = [_khz(path) for path in self._cpu.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")]
        known = [clock for clock in clocks if clock is not None]
        if known:
            return max(known), "cpufreq/scaling_cur_freq"
        # Virtual machines have no cpufreq; the kernel's own estimate is all there is.
        found = [float(value) * 1e6 for value in self._cpuinfo_values("cpu MHz")]
        return (max(found), str(self._cpuinfo)) if found else (None, "")

    def _cpu_percent(self) -> float | None:
        """Return the load since the last reading; the first one, or one too soon, has nothing to compare with."""
        now_s = time.monotonic()
        if self._primed_s is not None and now_s - self._primed_s < _SHORTEST_LOAD_S:
            return None
        known, self._primed_s = self._primed_s is not None, now_s
        percent = psutil.cpu_percent()
        return percent if known else None

    def _cpu_model(self) -> str | None:
        return next(iter(self._cpuinfo_values("model name")), None)

    def _cpuinfo_values(self, key: str) -> list[str]:
        text = _text(self._cpuinfo) or ""
        pairs = (line.partition(":") for line in text.splitlines())
        return [value.strip() for name, _, value in pairs if name.strip() == key]

    def _disk_usage(self) -> tuple[int | None, int | None]:
        # The data folder may not exist before the first run; its file system does.
        folder = next((place for place in (self._disk, *self._disk.parents) if place.exists()), None)
        if folder is None:
            return None, None
        usage = psutil.disk_usage(str(folder))
        return usage.total, usage.free


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _khz(path: Path) -> float | None:
    text = _text(path)
    return float(text) * 1e3 if text and text.isdigit() else None


def _temperature() -> float | None:
    """Return the hottest CPU sensor in degrees Celsius; machines without one give None."""
    sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
    for name in _CPU_SENSORS:
        values = [entry.current for entry in sensors.get(name, []) if entry.current]
        if values:
            return max(values)
    return None
