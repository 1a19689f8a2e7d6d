"""The kernel's nodes of one clock: their names, their unit, and what of them has to be kept."""

from __future__ import annotations

import msgspec

from edgelab.drivers.device_state import ClockDomain, DeviceState


class NodeNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the nodes in a clock's folder; one step of their numbers is `unit_hz`."""

    current: str
    low: str
    high: str
    governor: str
    setpoint: str
    unit_hz: int


DEVFREQ = NodeNames(
    current="cur_freq",
    low="min_freq",
    high="max_freq",
    governor="governor",
    setpoint="userspace/set_freq",
    unit_hz=1,
)
CPUFREQ = NodeNames(
    current="scaling_cur_freq",
    low="scaling_min_freq",
    high="scaling_max_freq",
    governor="scaling_governor",
    setpoint="scaling_setspeed",
    unit_hz=1000,
)

CRASHES_GPU = "dmc_ondemand"
"""The memory's governor. It is listed for every devfreq node, and written to a GPU it can crash the kernel
(a vendor's page, kept in the project's notes on RK3588)."""


def names_of(clock: ClockDomain) -> NodeNames:
    """Return how the nodes of a clock are called."""
    return CPUFREQ if clock.kind == "cpu" else DEVFREQ


def has_nodes(clock: ClockDomain) -> bool:
    """Whether a clock was read from nodes of devfreq or cpufreq, so that it can be set through them."""
    return clock.source.startswith(("/sys/class/devfreq/", "/sys/devices/system/cpu/cpufreq/"))


def nodes_to_save(state: DeviceState) -> tuple[tuple[str, str], ...]:
    """Return what the nodes of all clocks hold, in the order in which they are written back.

    The governor comes first because the set point of `userspace` exists under it alone; the lower limit comes
    before the upper one because the way back mostly opens a range that was closed at its upper end.
    """
    return tuple(node for clock in state.clocks if has_nodes(clock) for node in _of_clock(clock))


def _of_clock(clock: ClockDomain) -> list[tuple[str, str]]:
    names = names_of(clock)
    held: list[tuple[str, str | None]] = [
        (names.governor, clock.governor),
        (names.low, _number(clock.min_hz, names)),
        (names.high, _number(clock.max_hz, names)),
        (names.setpoint, _number(clock.setpoint_hz, names) if clock.governor == "userspace" else None),
    ]
    if clock.kind == "gpu" and clock.governor == CRASHES_GPU:
        held = held[1:]
    return [(f"{clock.source}/{name}", value) for name, value in held if value is not None]


def _number(freq_hz: int | None, names: NodeNames) -> str | None:
    return None if freq_hz is None else str(freq_hz // names.unit_hz)
