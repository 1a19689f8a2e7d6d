"""What the worker reads while a run holds a board, and whether it shows the clocks as they were locked."""

from __future__ import annotations

from edgelab.drivers.device_state import ClockDomain, ClockKind, DeviceState
from edgelab.drivers.families.clock_judgement import label, mhz, near
from edgelab.drivers.families.clock_nodes import has_nodes, names_of
from edgelab.drivers.families.judgement import counters_grown
from edgelab.drivers.profile import ClockPolicy, Profile

_MOST_NODES = 160
"""The worker reads them in a few milliseconds; a server of many CPUs has more than that."""


def clock_nodes(state: DeviceState, policy: ClockPolicy) -> tuple[str, ...]:
    """Return the nodes of the clocks that a policy asks for, the GPU's and the memory's first."""
    asked = [clock for clock in state.clocks if has_nodes(clock) and is_asked(clock.kind, policy)]
    asked.sort(key=lambda clock: clock.kind == "cpu")
    nodes: list[str] = []
    for clock in asked:
        names = names_of(clock)
        read = (names.current, names.low, names.high, names.governor)
        nodes.extend(f"{clock.source}/{name}" for name in read)
    return tuple(nodes[:_MOST_NODES])


def is_asked(kind: ClockKind, policy: ClockPolicy) -> bool:
    """Whether a policy asks anything of clocks of this kind."""
    if kind == "gpu":
        return policy.gpu_hz is not None
    if kind == "memory":
        return policy.memory_hz is not None or policy.memory_at_max
    if kind == "cpu":
        return policy.cpu_hz is not None or policy.cpu_at_max or bool(policy.cpu_governor)
    return False


def difference(locked: DeviceState, now: DeviceState, profile: Profile) -> str | None:
    """Return how a board differs from when it was locked, as a sentence; None when it does not.

    What `now` does not show is no difference: a node that could not be read says nothing.
    """
    policy = profile.clocks
    if locked.power_mode and now.power_mode and now.power_mode.name != locked.power_mode.name:
        return f"The power mode went from {locked.power_mode.name} to {now.power_mode.name}."
    seen = {(clock.kind, clock.name): clock for clock in now.clocks}
    for clock in locked.clocks:
        after = seen.get((clock.kind, clock.name))
        if after is None or not is_asked(clock.kind, policy):
            continue
        if (changed := _changed(clock, after, policy)) is not None:
            return changed
    return counters_grown(now, locked, profile)


def _changed(locked: ClockDomain, now: ClockDomain, policy: ClockPolicy) -> str | None:
    name = label(locked)
    if locked.governor and now.governor and now.governor != locked.governor:
        return f"The governor of {name} went from {locked.governor} to {now.governor}."
    free = locked.kind == "cpu" and policy.cpu_hz is None and not policy.cpu_at_max
    pairs = (
        ("lower limit", locked.min_hz, now.min_hz),
        ("upper limit", locked.max_hz, now.max_hz),
        # Where only a governor is asked for, the clock may move within its limits.
        ("frequency", None if free else locked.current_hz, now.current_hz),
    )
    for what, before_hz, after_hz in pairs:
        if before_hz is None or after_hz is None or near(after_hz, before_hz, policy.tolerance):
            continue
        return f"The {what} of {name} went from {mhz(before_hz)} to {mhz(after_hz)}."
    return None
