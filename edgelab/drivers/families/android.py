"""Android phones reached through Termux: checks alone. Locking one needs root and overheats it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from edgelab.drivers.device_state import ClockDomain, DeviceState, SavedClocks, Temperature
from edgelab.drivers.families.clock_reading import CPUFREQ_FILES, read_cpufreq
from edgelab.drivers.families.common_reading import read_common
from edgelab.drivers.families.look import Look
from edgelab.drivers.families.node_family import NodeFamily
from edgelab.drivers.family import LockOutcome, OnStep
from edgelab.drivers.probe import Command, ProbeReply
from edgelab.drivers.readings.battery import read_battery as read_battery_service
from edgelab.drivers.readings.node_lines import whole
from edgelab.drivers.readings.thermalservice import read_thermalservice as read_thermal_dump
from edgelab.drivers.transport import Transport

_DUMPSYS = "/system/bin/dumpsys"
_GETPROP = "/system/bin/getprop"
_KGSL = "/sys/class/kgsl/kgsl-3d0"
_SUPPLY = "/sys/class/power_supply/battery"

_COMMANDS = (
    # Denied to Termux, which is not the shell's user; an sshd started by adb may ask.
    Command(name="thermalservice", argv=(_DUMPSYS, "thermalservice"), time_limit_s=3.0),
    Command(name="battery", argv=(_DUMPSYS, "battery"), time_limit_s=3.0),
    # Can hang over sshd (termux-packages issue 4521).
    Command(name="termux_battery", argv=("termux-battery-status",), time_limit_s=3.0),
    Command(name="soc", argv=(_GETPROP, "ro.soc.model"), time_limit_s=2.0),
    Command(name="model", argv=(_GETPROP, "ro.product.model"), time_limit_s=2.0),
    Command(name="release", argv=(_GETPROP, "ro.build.version.release"), time_limit_s=2.0),
)
_BUSY = (f"{_KGSL}/gpu_busy_percentage", f"{_KGSL}/gpubusypercentage")
_BATTERY_FILES = (f"{_SUPPLY}/capacity", f"{_SUPPLY}/status", f"{_SUPPLY}/temp")


class _TermuxBattery(msgspec.Struct, frozen=True):
    """What termux-battery-status prints as JSON."""

    percentage: float | None = None
    status: str = ""
    temperature: float | None = None


class AndroidFamily(NodeFamily):
    """See `edgelab.drivers.family.Family`. Clocks are read and never set."""

    name = "android"
    poll_files: ClassVar = (
        *CPUFREQ_FILES,
        f"{_KGSL}/gpuclk",
        f"{_KGSL}/max_gpuclk",
        *_BUSY,
        *_BATTERY_FILES,
    )
    full_commands: ClassVar = _COMMANDS

    def read(self, reply: ProbeReply) -> DeviceState:
        """See `Family.read`."""
        look = read_common(reply)
        _read_names(look)
        _read_thermalservice(look)
        _read_battery(look)
        clocks = (*_gpu(look), *read_cpufreq(look))
        return DeviceState(**look.closing(), clocks=clocks)

    async def _lock(self, board: Transport, state: DeviceState, on_step: OnStep) -> LockOutcome:
        return LockOutcome(
            done=False,
            problem=f"{board.device}: a phone's clocks are not locked, because held clocks overheat it.",
            advice="Let it cool and charge it; programs are pinned to its big cores.",
        )

    async def _restore(self, board: Transport, saved: SavedClocks, on_step: OnStep) -> LockOutcome:
        on_step("nothing was changed on this phone")
        return LockOutcome(done=True)


def _said(look: Look, name: str) -> str:
    output = look.output(name)
    return output.output.decode(errors="replace").strip() if output and output.exit_code == 0 else ""


def _read_names(look: Look) -> None:
    soc, model, release = (_said(look, name) for name in ("soc", "model", "release"))
    look.fields |= {
        "model": model or None,
        "identity": tuple(filter(None, (model, soc))),
        "system": f"Android {release}" if release else None,
    }
    if soc:
        look.cite("identity", f"{_GETPROP} ro.soc.model", soc)
    else:
        look.unanswered("identity", "soc", f"{_GETPROP} ro.soc.model")


def _read_thermalservice(look: Look) -> None:
    """Set temperatures and throttling by Android's thermal service, where it may be asked.

    Only what its HAL says now counts; without a HAL nothing is known, whatever the status.
    """
    asked = f"{_DUMPSYS} thermalservice"
    output = look.output("thermalservice")
    heat = read_thermal_dump(_said(look, "thermalservice"))
    if output is None or heat.verdict == "unknown":
        look.unanswered("throttling", "thermalservice", asked)
        return
    look.found("throttling", heat.verdict == "throttled", asked, f"Thermal Status: {heat.status}")
    zones = tuple(Temperature(name, celsius, asked) for name, celsius, _ in heat.temperatures)
    if zones:
        hottest = max(zones, key=lambda zone: zone.celsius)
        look.found("temperatures", zones, asked, f"{hottest.zone} {hottest.celsius}")
        look.cite("temperature", asked, f"{hottest.zone} {hottest.celsius}")


def _read_battery(look: Look) -> None:
    """Set the battery's charge by whichever source answers: the service, Termux' own tool, the kernel's nodes."""
    service = read_battery_service(_said(look, "battery"))
    if service.percent is not None:
        _battery(look, service.percent, service.charging, f"{_DUMPSYS} battery", _said(look, "battery"))
        return
    termux = _termux_battery(_said(look, "termux_battery"))
    if termux is not None and termux.percentage is not None:
        charging = termux.status == "CHARGING" if termux.status else None
        _battery(look, termux.percentage, charging, "termux-battery-status", _said(look, "termux_battery"))
        return
    capacity = whole(look.text(_BATTERY_FILES[0]))
    if capacity is not None:
        status = look.text(_BATTERY_FILES[1])
        charging = None if status is None else status == "Charging"
        _battery(look, float(capacity), charging, _BATTERY_FILES[0], str(capacity))
        return
    look.unanswered("battery", "battery", f"{_DUMPSYS} battery")


def _battery(look: Look, percent: float, charging: bool | None, source: str, text: str) -> None:
    look.fields |= {"battery_percent": percent, "battery_charging": charging}
    look.cite("battery", source, text)


def _termux_battery(text: str) -> _TermuxBattery | None:
    try:
        return msgspec.json.decode(text, type=_TermuxBattery)
    except msgspec.DecodeError:
        return None


def _gpu(look: Look) -> tuple[ClockDomain, ...]:
    """Return the Adreno's clock by its driver's nodes (KGSL), where they may be read."""
    current_hz, highest_hz = (whole(look.text(f"{_KGSL}/{name}")) for name in ("gpuclk", "max_gpuclk"))
    busy = whole((look.text(_BUSY[0]) or look.text(_BUSY[1]) or "").rstrip(" %"))
    if current_hz is None:
        look.unread("gpu_clock", f"{_KGSL}/gpuclk")
        return ()
    return (
        ClockDomain(
            name="adreno",
            kind="gpu",
            current_hz=current_hz,
            max_hz=highest_hz,
            load_percent=None if busy is None else float(busy),
            source=_KGSL,
        ),
    )
