"""What every Linux tells of itself: boot, uptime, load, ticks, names and the time (proc(5), os-release(5))."""

from __future__ import annotations

import re

import msgspec

from edgelab.drivers.readings.node_lines import decimal, whole

_BOOT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PRETTY_NAME = re.compile(
    r"^PRETTY_NAME=(?:\"([^\"\r\n]+)\"|'([^'\r\n]+)'|([^\s\"']+))[ \t\r]*$", re.MULTILINE
)
_WAITING = slice(3, 5)
"""Columns `idle` and `iowait`: waiting for a disk is not busy."""

_COUNTED = 8
"""Columns that add up to all ticks: guest time, the ninth and tenth, is in user time already."""


class LoadAverage(msgspec.Struct, frozen=True):
    """/proc/loadavg: busy and waiting tasks on average over 1, 5 and 15 minutes."""

    one_min: float | None = None
    five_min: float | None = None
    fifteen_min: float | None = None


class CpuTicks(msgspec.Struct, frozen=True, kw_only=True):
    """/proc/stat: ticks of all CPUs since boot, busy ones and all; `cores` counts the CPUs that are online."""

    busy: int | None = None
    total: int | None = None
    cores: int | None = None


def read_load_average(text: str) -> LoadAverage:
    """Read /proc/loadavg."""
    return LoadAverage(*(decimal(word) for word in text.split()[:3]))


def read_cpu_ticks(text: str) -> CpuTicks:
    """Read /proc/stat, which Android keeps from programs: nothing is known then."""
    lines = text.split("\n")
    cores = sum(re.match("cpu[0-9]", line) is not None for line in lines) or None
    head, *words = lines[0].split() or [""]
    ticks = [whole(word) for word in words[:_COUNTED]]
    counted = [number for number in ticks if number is not None and number >= 0]
    if head != "cpu" or len(counted) < _WAITING.stop or len(counted) != len(ticks):
        return CpuTicks(cores=cores)
    return CpuTicks(busy=sum(counted) - sum(counted[_WAITING]), total=sum(counted), cores=cores)


def read_uptime_s(text: str) -> float | None:
    """Read /proc/uptime: seconds since boot."""
    uptime_s = decimal(text.partition(" ")[0])
    return uptime_s if uptime_s is not None and uptime_s >= 0 else None


def read_boot_id(text: str) -> str | None:
    """Read /proc/sys/kernel/random/boot_id: another one says that the board was booted again."""
    said = text.strip()
    return said if _BOOT_ID.fullmatch(said) else None


def read_tree_strings(text: str) -> tuple[str, ...]:
    """Read a property of the device tree that holds strings, each ended by NUL (`model`, `compatible`)."""
    return tuple(word for part in text.split("\0") if (word := part.strip()))


def read_system_name(text: str) -> str | None:
    """Read PRETTY_NAME of /etc/os-release, in quotes or without."""
    found = _PRETTY_NAME.search(text)
    return next(filter(None, found.groups()), None) if found else None


def read_epoch_s(text: str) -> float | None:
    """Read `date +%s` or `date +%s.%N`: seconds since the epoch. A `date` without %N leaves a letter there."""
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(?:\.?%?N)?", text.strip())
    return float(found[1]) if found else None
