"""Whether the clocks are what the profile wants: mode, GPU, CPU, memory, and what the hardware really runs at."""

from __future__ import annotations

from collections.abc import Sequence

from edgelab.drivers.check import Check, Evidence
from edgelab.drivers.device_state import ClockDomain, ClockKind, DeviceState
from edgelab.drivers.families.judgement import answer
from edgelab.drivers.profile import ClockPolicy

HOLDING_GOVERNORS = frozenset({"performance", "userspace", "override"})
"""Governors under which a clock stays where it is with its limits apart; `override` is BPMP's (Jetson's EMC)."""

_REAL_TOLERANCE = 0.02
"""What hardware may differ from its request: steps of a PLL are about one per cent, a fault far more."""

_LABELS: dict[ClockKind, str] = {"gpu": "GPU", "cpu": "CPU", "memory": "memory", "npu": "NPU"}


def clock_checks(state: DeviceState, policy: ClockPolicy) -> list[Check]:
    """Return the checks of mode and clocks that a policy asks for, and those of clocks that are known anyway."""
    found = [
        power_mode(state, policy),
        gpu_clock(state, policy),
        cpu_clock(state, policy),
        memory_clock(state, policy),
        real_clock(state, policy),
        gpu_units(state, policy),
    ]
    return [check for check in found if check is not None]


def mhz(freq_hz: int | None) -> str:
    """Return a clock with all its digits (`1300.5 MHz`): it is compared within one per cent."""
    return "unknown" if freq_hz is None else f"{freq_hz / 1e6:g} MHz"


def label(clock: ClockDomain) -> str:
    """Return what people call a clock: `GPU`, `CPU policy4`, `memory dmc`."""
    return "GPU" if clock.kind == "gpu" else f"{_LABELS[clock.kind]} {clock.name}".strip()


def near(freq_hz: int | None, target_hz: int, tolerance: float) -> bool:
    """Whether a clock is its target within a share of it; boards round (305 for 306 MHz)."""
    return freq_hz is not None and abs(freq_hz - target_hz) <= tolerance * target_hz


def top_hz(clock: ClockDomain) -> int | None:
    """Return the highest step of a clock; None where its table is not known."""
    return clock.available_hz[-1] if clock.available_hz else None


def nearest_step(clock: ClockDomain, target_hz: int, tolerance: float) -> int | None:
    """Return the step of a clock's table that is the target within tolerance; None when it has none."""
    step = min(clock.available_hz, key=lambda freq_hz: abs(freq_hz - target_hz), default=None)
    return step if near(step, target_hz, tolerance) else None


def not_in_table(clock: ClockDomain, target_hz: int, tolerance: float) -> str | None:
    """Return why a clock cannot run at its target: a sentence, None when it can (or its table is unknown)."""
    if not clock.available_hz or nearest_step(clock, target_hz, tolerance) is not None:
        return None
    low, high = mhz(clock.available_hz[0]), mhz(clock.available_hz[-1])
    return f"The {label(clock)} has no step at {mhz(target_hz)}: its table goes from {low} to {high}."


def not_held(clock: ClockDomain, target_hz: int, tolerance: float) -> str | None:
    """Return how a clock is not held at its target: a sentence, None when it is. Its current value is known."""
    name, wanted = label(clock), mhz(target_hz)
    # Old kernels show 0 for a limit that nobody has asked for.
    low, high = clock.min_hz, clock.max_hz or None
    if high is not None and high < target_hz * (1 - tolerance):
        return f"The {name} clock is capped at {mhz(high)}, below {wanted}."
    fixed = low is not None and high is not None and near(low, high, tolerance)
    if not fixed and clock.governor not in HOLDING_GOVERNORS:
        under = f" under governor {clock.governor}" if clock.governor else ""
        return f"The {name} clock is not locked: it may go from {mhz(low)} to {mhz(high)}{under}."
    if not near(clock.current_hz, target_hz, tolerance):
        return f"The {name} clock is {mhz(clock.current_hz)}, not {wanted}."
    return None


def power_mode(state: DeviceState, policy: ClockPolicy) -> Check | None:
    """Whether the board is in the power mode that the profile names."""
    mode, wanted = state.power_mode, policy.power_mode
    if not wanted:
        return None if mode is None else answer(state, "power_mode", True, value=mode.name)
    if mode is None:
        return answer(state, "power_mode", None, wanted=wanted)
    names = [known.name for known in state.power_modes]
    locked = " though its clocks are locked" if state.clocks_locked else ""
    reason = f"The power mode is {mode.name}, not {wanted}{locked}."
    if names and wanted not in names:
        reason = f"This board knows no power mode {wanted}: it has {', '.join(names)}."
    value = mode.name if mode.id is None else f"{mode.name} ({mode.id})"
    return answer(state, "power_mode", mode.name == wanted, value=value, wanted=wanted, reason=reason)


def gpu_clock(state: DeviceState, policy: ClockPolicy) -> Check | None:
    """Whether the GPU's clock is held at the profile's target."""
    return _held_check(state, "gpu_clock", state.clock("gpu"), policy.gpu_hz, policy.tolerance)


def memory_clock(state: DeviceState, policy: ClockPolicy) -> Check | None:
    """Whether the memory controller is held at its target."""
    clock = state.clock("memory")
    target_hz = policy.memory_hz
    if policy.memory_at_max and clock is not None:
        target_hz = top_hz(clock) or clock.max_hz or None
    if policy.memory_at_max and target_hz is None:
        return answer(
            state, "memory_clock", None, wanted="its highest step", evidence=clock_evidence(state, clock)
        )
    return _held_check(state, "memory_clock", clock, target_hz, policy.tolerance)


def _held_check(
    state: DeviceState, name: str, clock: ClockDomain | None, target_hz: int | None, tolerance: float
) -> Check | None:
    evidence = clock_evidence(state, clock)
    if target_hz is None:
        if clock is None or clock.current_hz is None:
            return None
        return answer(state, name, True, value=mhz(clock.current_hz), evidence=evidence)
    wanted = f"held at {mhz(target_hz)}"
    if clock is None:
        return answer(state, name, None, wanted=wanted)
    wrong = not_in_table(clock, target_hz, tolerance)
    if wrong is None and clock.current_hz is None:
        why = clock.problem or state.why_unknown(name) or "the board does not show it"
        reason = f"The {label(clock)} clock is not known: {why}."
        return answer(state, name, None, wanted=wanted, reason=reason, evidence=evidence)
    wrong = wrong or not_held(clock, target_hz, tolerance)
    value = mhz(clock.current_hz)
    return answer(
        state, name, wrong is None, value=value, wanted=wanted, reason=wrong or "", evidence=evidence
    )


def cpu_clock(state: DeviceState, policy: ClockPolicy) -> Check | None:
    """Whether every CPU cluster is held: the fastest one at the profile's target, or each at its highest step."""
    clusters = [clock for clock in state.clocks if clock.kind == "cpu"]
    asked = policy.cpu_hz is not None or policy.cpu_at_max or policy.cpu_governor
    wanted = _cpu_wanted(policy)
    value = ", ".join(f"{clock.name} {mhz(clock.current_hz)}" for clock in clusters)
    if not asked:
        return answer(state, "cpu_clock", True, value=value) if clusters else None
    if not clusters:
        return answer(state, "cpu_clock", None, wanted=wanted)
    fastest = fastest_cluster(clusters)
    unknown = [clock for clock in clusters if clock.current_hz is None]
    for clock in clusters:
        if clock.current_hz is None and not policy.cpu_governor:
            continue
        if (wrong := _cluster_wrong(clock, policy)) is not None:
            evidence = clock_evidence(state, clock)
            return answer(
                state, "cpu_clock", False, value=value, wanted=wanted, reason=wrong, evidence=evidence
            )
    evidence = clock_evidence(state, fastest)
    if unknown and not policy.cpu_governor:
        why = unknown[0].problem or "the board does not show it"
        reason = f"The {label(unknown[0])} clock is not known: {why}."
        return answer(state, "cpu_clock", None, value=value, wanted=wanted, reason=reason, evidence=evidence)
    return answer(state, "cpu_clock", True, value=value, wanted=wanted, evidence=evidence)


def _cpu_wanted(policy: ClockPolicy) -> str:
    if policy.cpu_hz is not None:
        return f"held at {mhz(policy.cpu_hz)}"
    return "held at the highest steps" if policy.cpu_at_max else f"governor {policy.cpu_governor}"


def fastest_cluster(clusters: Sequence[ClockDomain]) -> ClockDomain:
    """Return the cluster with the highest step; a policy's number says nothing about its speed."""
    return max(clusters, key=lambda clock: top_hz(clock) or clock.max_hz or 0)


def _cluster_wrong(clock: ClockDomain, policy: ClockPolicy) -> str | None:
    if policy.cpu_governor and clock.governor != policy.cpu_governor:
        found = clock.governor or "unknown"
        return f"The governor of {label(clock)} is {found}, not {policy.cpu_governor}."
    target_hz = cluster_target(clock, policy)
    if target_hz is None:
        return None
    tolerance = policy.tolerance
    return not_in_table(clock, target_hz, tolerance) or not_held(clock, target_hz, tolerance)


def cluster_target(clock: ClockDomain, policy: ClockPolicy) -> int | None:
    """Return at what a CPU cluster has to be held; None when only its governor counts.

    A cluster that does not reach the profile's clock has to be at its own highest step.
    """
    highest_hz = top_hz(clock)
    if policy.cpu_at_max:
        return highest_hz or clock.max_hz or None
    if policy.cpu_hz is None:
        return None
    if highest_hz is not None and highest_hz < policy.cpu_hz * (1 - policy.tolerance):
        return highest_hz
    return policy.cpu_hz


def real_clock(state: DeviceState, policy: ClockPolicy) -> Check | None:
    """Whether the GPU really runs at what the kernel asked for. Meaningful under load alone.

    RK3588 boards were seen at 850 MHz for a request of 1 GHz while every node said 1 GHz.
    """
    gpu = state.clock("gpu")
    if policy.gpu_hz is None or gpu is None:
        return None
    requested_hz = gpu.current_hz or policy.gpu_hz
    wanted = f"{mhz(requested_hz)} in hardware"
    if gpu.measured_hz is None:
        why = state.why_unknown("real_clock") or "an idle GPU does not show it, only a loaded one"
        return answer(
            state, "real_clock", None, wanted=wanted, reason=f"The GPU's real clock is not known: {why}."
        )
    value = mhz(gpu.measured_hz)
    reason = f"The GPU runs at {value} although {mhz(requested_hz)} is requested."
    ok = near(gpu.measured_hz, requested_hz, _REAL_TOLERANCE)
    return answer(state, "real_clock", ok, value=value, wanted=wanted, reason=reason)


def gpu_units(state: DeviceState, policy: ClockPolicy) -> Check | None:
    """Whether all of the GPU's processing clusters are powered; a mode with a mask leaves some off."""
    if policy.gpu_units is None:
        return None
    wanted = f"{policy.gpu_units} powered"
    if state.gpu_units is None:
        return answer(state, "gpu_units", None, wanted=wanted)
    value = f"{state.gpu_units}"
    reason = f"Only {state.gpu_units} of the GPU's {policy.gpu_units} processing clusters are powered."
    return answer(
        state, "gpu_units", state.gpu_units >= policy.gpu_units, value=value, wanted=wanted, reason=reason
    )


def clock_evidence(state: DeviceState, clock: ClockDomain | None) -> Evidence | None:
    """Return what the nodes of a clock said."""
    if clock is None:
        return None
    held = (
        ("current", clock.current_hz),
        ("min", clock.min_hz),
        ("max", clock.max_hz),
        ("measured", clock.measured_hz),
    )
    said = [f"{name} {freq_hz}" for name, freq_hz in held if freq_hz is not None]
    governor = [f"governor {clock.governor}"] if clock.governor else []
    return Evidence(clock.source, ", ".join((*said, *governor)), state.read_s)
