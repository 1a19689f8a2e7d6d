"""Memory: /proc/meminfo and `free -h`. What counts is what is available, not what is free."""

from __future__ import annotations

import re

import msgspec


class Meminfo(msgspec.Struct, frozen=True):
    """Memory in kB (1024 bytes)."""

    total_kb: int | None = None
    available_kb: int | None = None


class FreeTable(msgspec.Struct, frozen=True):
    """`free -h`, as printed."""

    total: str | None = None
    available: str | None = None


def read_meminfo(text: str) -> Meminfo:
    """Read /proc/meminfo."""

    def number(name: str) -> int | None:
        found = re.search(rf"^{name}: +([0-9]{{1,15}}) kB", text, re.MULTILINE)
        return int(found[1]) if found else None

    return Meminfo(number("MemTotal"), number("MemAvailable"))


def read_free(text: str) -> FreeTable:
    """Read `free -h` by its heads: old versions have no column `available`."""
    lines = text.splitlines()
    heads = next((line.split() for line in lines if "total" in line.split()), [])
    values = next((line.split()[1:] for line in lines if line.startswith("Mem:")), [])
    found = dict(zip(heads, values, strict=False))
    return FreeTable(found.get("total"), found.get("available"))
