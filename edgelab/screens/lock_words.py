"""What locking would change on each device, in words, before the operator says yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from edgelab.screens.board_words import clock_hz, mhz

if TYPE_CHECKING:
    from edgelab.drivers.profile import ClockPolicy
    from edgelab.lab.board_view import BoardView

_MOST_NAMED = 6
_WAY_BACK = "What is there now is stored on each device first; R puts it back."


def lockable(names: Sequence[str], policies: Mapping[str, ClockPolicy]) -> tuple[str, ...]:
    """Return the devices whose clocks are EdgeLab's to lock."""
    return tuple(name for name in names if policies[name].lock)


def lock_question(
    names: Sequence[str], policies: Mapping[str, ClockPolicy], views: Mapping[str, BoardView]
) -> str:
    """Return the question to ask before `names` are locked, one paragraph a device."""
    able = lockable(names, policies)
    lines = [f"Lock the clocks of {_counted(able)}?"]
    lines += [f"{name}: {_change(policies[name], views.get(name))}" for name in able[:_MOST_NAMED]]
    if len(able) > _MOST_NAMED:
        lines.append(f"… and {len(able) - _MOST_NAMED} more, each as its profile says.")
    left = [name for name in names if name not in able]
    if left:
        lines.append(f"Not EdgeLab's to lock, left alone: {', '.join(left[:_MOST_NAMED])}.")
    return "\n".join([*lines, "", _WAY_BACK])


def _counted(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} devices"


def _change(policy: ClockPolicy, view: BoardView | None) -> str:
    parts = []
    if policy.power_mode:
        mode = view.state.power_mode if view is not None and view.state is not None else None
        now = f" (now {mode.name})" if mode is not None and mode.name != policy.power_mode else ""
        parts.append(f"power mode {policy.power_mode}{now}")
    if policy.gpu_hz is not None:
        found_hz = clock_hz(view, "gpu")
        now = f" (now {mhz(found_hz)})" if found_hz is not None else ""
        parts.append(f"GPU held at {mhz(policy.gpu_hz)} MHz{now}")
    if policy.cpu_hz is not None:
        parts.append(f"CPU held at {mhz(policy.cpu_hz)} MHz")
    elif policy.cpu_at_max:
        parts.append("CPU held at its highest steps")
    if policy.memory_hz is not None:
        parts.append(f"memory held at {mhz(policy.memory_hz)} MHz")
    elif policy.memory_at_max:
        parts.append("memory held at its highest step")
    said = ", ".join(parts) or "clocks held as its profile says"
    lease = view.state.lease if view is not None and view.state is not None else None
    return f"{said}. {lease.owner} holds it: refused until it is free." if lease is not None else f"{said}."
