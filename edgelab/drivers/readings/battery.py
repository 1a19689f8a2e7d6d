"""Android's `dumpsys battery`."""

from __future__ import annotations

import re

import msgspec

from edgelab.drivers.readings.node_lines import whole

_UNKNOWN, _CHARGING = 1, 2
"""android.os.BatteryManager BATTERY_STATUS_UNKNOWN and BATTERY_STATUS_CHARGING."""


class Battery(msgspec.Struct, frozen=True, kw_only=True):
    """Charge in per cent of its scale, degrees Celsius (told in tenths), millivolts, whether it charges."""

    percent: float | None = None
    temp_c: float | None = None
    voltage_mv: int | None = None
    charging: bool | None = None


def read_battery(text: str) -> Battery:
    """Read a dump of the battery service. Lines such as `Capacity level` or `Charging state` are not meant."""

    def number(name: str) -> int | None:
        found = re.search(rf"^[ \t]*{name}: (-?[0-9]{{1,9}})[ \t\r]*$", text, re.MULTILINE)
        return whole(found[1]) if found else None

    level, scale, tenths, status = (number(name) for name in ("level", "scale", "temperature", "status"))
    return Battery(
        percent=_percent(level, scale),
        temp_c=tenths / 10 if tenths is not None else None,
        voltage_mv=number("voltage"),
        charging=None if status in (None, _UNKNOWN) else status == _CHARGING,
    )


def _percent(level: int | None, scale: int | None) -> float | None:
    """Return the share of the scale; a battery that is not there has level -1 or no scale."""
    if level is None or scale is None or level < 0 or scale <= 0:
        return None
    return 100 * level / scale
