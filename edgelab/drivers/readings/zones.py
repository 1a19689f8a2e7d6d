"""Thermal zones of the kernel: `type` and `temp` of each, in thousandths of a degree."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from edgelab.drivers.readings.node_lines import whole

_CONSTANT = frozenset({"pmic-die"})
"""Zones that always show the same number (100 C on a Nano)."""

_HIGHEST_C = 200.0


class Zone(msgspec.Struct, frozen=True):
    """One zone by the type it names itself with, in degrees Celsius, and the node it was read from."""

    name: str
    celsius: float
    node: str


class Zones(msgspec.Struct, frozen=True):
    """The zones that say something, in the order of their numbers; `ignored` are those that do not."""

    known: tuple[Zone, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def hottest(self) -> Zone | None:
        """The hottest zone."""
        return max(self.known, key=lambda zone: zone.celsius, default=None)

    def celsius(self, name: str) -> float | None:
        """Return the temperature of the zone of that name, with `-therm` or `-thermal` at its end."""
        wanted = {f"{name}-therm", f"{name}-thermal", name}
        return next((zone.celsius for zone in self.known if zone.name.lower() in wanted), None)


def read_zones(nodes: Mapping[str, str]) -> Zones:
    """Read zones from nodes by path. What cannot be read, or is 0 or less, is a zone without power."""
    known, ignored = [], []
    folders = [path.rpartition("/")[0] for path in nodes if path.endswith("/type")]
    for folder in sorted(set(folders), key=_number):
        name = nodes[f"{folder}/type"].strip()
        milli = whole(nodes.get(f"{folder}/temp"))
        celsius = None if milli is None else milli / 1000
        if name.lower() in _CONSTANT or celsius is None or not 0 < celsius < _HIGHEST_C:
            ignored.append(name)
        else:
            known.append(Zone(name, celsius, f"{folder}/temp"))
    return Zones(tuple(known), tuple(ignored))


def _number(folder: str) -> tuple[int, str]:
    found = re.search(r"([0-9]{1,9})$", folder)
    return (int(found[1]) if found else 1 << 30, folder)
