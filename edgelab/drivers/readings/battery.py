"""Android's `dumpsys battery`."""

from __future__ import annotations

import re

import msgspec

from edgelab.drivers.readings.node_lines import whole

_CHARGING = 2


class Battery(msgspec.Struct, frozen=True, kw_only=True):
    """Charge in per cent of its scale, degrees Celsius (told in tenths), millivolts, whether it charges."""

    percent: float | None = None
    temp_c: float | None = None
    voltage_mv: int | None = None
    charging: bool | None = None


def read_battery(text: str) -> Battery:
    """Read a dump of the battery service."""

    def number(name: str) -> int | None:
        found = re.search(rf"^ *{name}: (-?[0-9]{{1,9}})\s*$", text, re.MULTILINE)
        return whole(found[1]) if found else None

    level, scale, tenths, status = (number(name) for name in ("level", "scale", "temperature", "status"))
    return Battery(
        percent=100 * level / scale if level is not None and scale else None,
        temp_c=tenths / 10 if tenths is not None else None,
        voltage_mv=number("voltage"),
        charging=status == _CHARGING if status is not None else None,
    )
