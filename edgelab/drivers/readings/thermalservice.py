"""Android's `dumpsys thermalservice`: what its HAL says now. The cached list is old."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from edgelab.drivers.readings.node_lines import decimal

_TEMPERATURE = re.compile(
    r"Temperature\{mValue=(-?[0-9.]{1,24}|NaN), mType=(-?[0-9]{1,3}), mName=([^,]{0,99}),"
)
_COOLING = re.compile(r"CoolingDevice\{mValue=([0-9]{1,6}), mType=([0-9]{1,3}), mName=[^,}]{0,99}[,}]")
_SKIN = re.compile(r"mType=3, mName=[^,]{0,99}, mHotThrottlingThresholds=\[([^\]]{0,999})\]")
_CPU, _BATTERY, _SKIN_TYPE = 0, 2, 3
_NO_CELSIUS = frozenset({6, 7, 8})
"""Types that are volts, amperes and per cent (android.hardware.thermal TemperatureType)."""

_OFF_C = -90.0
"""Sensors that are off read -99.9 C on phones of Samsung."""

_CPU_COOLING = 2
_SEVERE = 3
_THROTTLED_FROM = 2


class ThermalService(msgspec.Struct, frozen=True, kw_only=True):
    """One dump. `temperatures` are (name, degrees Celsius, type); empty while the HAL is not ready.

    `status` is 0 (none) to 6 (shutdown). `cooling_active` counts CPU cooling devices at work, None where the
    HAL lists no devices. `skin_severe_c` is from where on the skin counts as severely hot.
    """

    status: int | None = None
    hal_ready: bool | None = None
    temperatures: tuple[tuple[str, float, int], ...] = ()
    cooling_active: int | None = None
    skin_severe_c: float | None = None

    @property
    def skin_c(self) -> float | None:
        """The skin's temperature."""
        return self._hottest_of(_SKIN_TYPE)

    @property
    def max_cpu_c(self) -> float | None:
        """The hottest core."""
        return self._hottest_of(_CPU)

    @property
    def battery_c(self) -> float | None:
        """The battery's temperature."""
        return self._hottest_of(_BATTERY)

    @property
    def hottest_c(self) -> float | None:
        """The hottest of all."""
        return max((celsius for _, celsius, _ in self.temperatures), default=None)

    @property
    def verdict(self) -> Literal["ok", "throttled", "unknown"]:
        """Whether the phone throttles; without a HAL nothing is known, whatever the status."""
        if not self.hal_ready or self.status is None:
            return "unknown"
        return "throttled" if self.status >= _THROTTLED_FROM else "ok"

    def _hottest_of(self, kind: int) -> float | None:
        return max((celsius for _, celsius, found in self.temperatures if found == kind), default=None)


def read_thermalservice(text: str) -> ThermalService:
    """Read a dump of the thermal service."""
    status = re.search(r"^[ \t]*Thermal Status: ([0-9])[ \t\r]*$", text, re.MULTILINE)
    ready = re.search(r"HAL Ready: (true|false)", text)
    no_hal = ready is not None and ready[1] == "false"
    now = "" if no_hal else _section(text, "Current temperatures from HAL:")
    found = ((name, decimal(value), int(kind)) for value, kind, name in _TEMPERATURE.findall(now))
    limits = _SKIN.search(text)
    cooling = _COOLING.findall("" if no_hal else _section(text, "Current cooling devices from HAL:"))
    severe = limits[1].split(",") if limits else []
    working = sum(1 for value, kind in cooling if int(kind) == _CPU_COOLING and int(value) > 0)
    return ThermalService(
        status=int(status[1]) if status else None,
        hal_ready=ready[1] == "true" if ready else None,
        temperatures=tuple(
            (name, celsius, kind)
            for name, celsius, kind in found
            if celsius is not None and celsius > _OFF_C and kind not in _NO_CELSIUS
        ),
        cooling_active=working if cooling else None,
        skin_severe_c=decimal(severe[_SEVERE]) if len(severe) > _SEVERE else None,
    )


def _section(text: str, title: str) -> str:
    """Return the indented lines after a title."""
    _, found, rest = text.partition(title)
    lines = []
    for line in rest.split("\n")[1:] if found else []:
        if not line.startswith(("\t", " ")):
            break
        lines.append(line)
    return "\n".join(lines)
