"""State of the device from files that Linux boards share; None for what cannot be read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_PLAUSIBLE_C = (-40.0, 150.0)
_NODE_BYTES = 4096


def sample(root: Path = Path("/")) -> dict[str, float | int | None]:
    """Read clock (the fastest core's), temperature (the hottest zone's), load and available memory."""
    return {
        "cpu_freq_hz": _cpu_freq_hz(root),
        "temperature_c": _temperature_c(root),
        "load_1min": _load_1min(root),
        "memory_available_bytes": _memory_available_bytes(root),
    }


def read_nodes(paths: Sequence[str]) -> dict[str, str | None]:
    """Read small files (nodes of sysfs), at most 4 KiB each; None for one that cannot be read."""
    return {path: _node(path) for path in paths}


def _node(path: str) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - one read, as sysfs wants it
            return file.read(_NODE_BYTES).decode(errors="replace")
    except OSError:
        return None


def _cpu_freq_hz(root: Path) -> float | None:
    paths = root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
    if readings := [khz for path in paths if (khz := _number(path)) is not None]:
        return max(readings) * 1e3
    lines = _text(root / "proc/cpuinfo").splitlines()
    megahertz = [_parse(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    known = [value for value in megahertz if value is not None]
    return max(known) * 1e6 if known else None


def _temperature_c(root: Path) -> float | None:
    paths = root.glob("sys/class/thermal/thermal_zone*/temp")
    readings = [value / 1e3 for path in paths if (value := _number(path)) is not None]
    plausible = [value for value in readings if _PLAUSIBLE_C[0] < value < _PLAUSIBLE_C[1]]
    return max(plausible) if plausible else None


def _load_1min(root: Path) -> float | None:
    return _parse(_text(root / "proc/loadavg").partition(" ")[0])


def _memory_available_bytes(root: Path) -> int | None:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            value = _parse(line.split()[1])
            return None if value is None else int(value) * 1024
    return None


def _number(path: Path) -> float | None:
    return _parse(_text(path))


def _parse(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""
