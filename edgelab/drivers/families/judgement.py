"""The checks that every family shares: what it is, heat, load, space, lease, clock of the board, throttling."""

from __future__ import annotations

import msgspec

from edgelab import quantities
from edgelab.drivers.check import Check, Evidence
from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.profile import HealthLimits, Profile

_MIB = 1 << 20
_GIB = 1 << 30
_MODULE_SHARE = 0.75
"""A module of 64 GiB shows about 61 to Linux; the next smaller one half of that."""

_TICKS_S = 0.01
_WATCHED_S = (0.5, 10.0)
"""How far apart two looks have to be for ticks to tell who else is busy; later, work of our own is in it."""
_OWN_CORES = 1.0
"""What a look costs the board itself while it runs."""


def shared_checks(state: DeviceState, before: DeviceState | None, profile: Profile) -> list[Check]:
    """Return the checks that do not depend on how a family sets clocks, in the order in which they are shown."""
    limits = profile.limits
    found = [
        identity(state, profile),
        board_clock(state, limits),
        sudo(state, profile),
        throttling(state, before, profile),
        temperature(state, limits),
        load(state, before, limits),
        memory(state, limits),
        disk(state, limits),
        battery(state, limits),
        lease(state),
        runtime(state),
    ]
    return [check for check in found if check is not None]


def answer(
    state: DeviceState,
    name: str,
    ok: bool | None,
    *,
    value: str = "",
    wanted: str = "",
    reason: str = "",
    field: str = "",
    evidence: Evidence | None = None,
) -> Check:
    """Return a check with the evidence of `field` (that of its name, when left out).

    An answer that is not yes always has a reason: for one that is unknown, why it could not be read.
    """
    field = field or name
    if ok is not True and not reason:
        why = state.why_unknown(field) or "the board shows no source for it"
        words = name.replace("_", " ").replace("gpu", "GPU").replace("cpu", "CPU")
        reason = f"The {words} could not be read: {why}."
    return Check(
        name=name,
        ok=ok,
        value=value or (quantities.UNKNOWN if ok is None else ""),
        wanted=wanted,
        reason="" if ok else reason,
        evidence=evidence or state.evidence_of(field),
    )


def identity(state: DeviceState, profile: Profile) -> Check | None:
    """Whether this is a board of the profile: by its own names, and by its memory where modules differ in it."""
    if not profile.identity:
        return None
    wanted = " or ".join(profile.identity)
    if not state.identity:
        return answer(state, "identity", None, wanted=wanted)
    value = state.model or state.identity[0]
    names = "\n".join(state.identity).lower()
    if not any(word.lower() in names for word in profile.identity):
        reason = (
            f"This board calls itself {value!r}, which is no {profile.title}; name another profile for it."
        )
        return answer(state, "identity", False, value=value, wanted=wanted, reason=reason)
    expected_gib, total = profile.peaks.memory_gib, state.memory_total_bytes
    if expected_gib is not None and total is not None and total < _MODULE_SHARE * expected_gib * _GIB:
        found = quantities.size(total)
        reason = f"This board has {found} of memory and not {expected_gib:g} GiB: it is another module."
        return answer(state, "identity", False, value=f"{value}, {found}", wanted=wanted, reason=reason)
    return answer(state, "identity", True, value=value, wanted=wanted)


def board_clock(state: DeviceState, limits: HealthLimits) -> Check | None:
    """Whether the board's clock agrees with ours; what it dates is worthless otherwise."""
    limit_s = limits.clock_offset_s
    if limit_s is None:
        return None
    wanted = f"within {limit_s:g} s of this machine's"
    if state.board_time_s is None:
        return answer(state, "board_clock", None, wanted=wanted)
    offset_s = state.board_time_s - state.read_s
    value = f"{offset_s:+.0f} s"
    evidence = Evidence("date", f"{state.board_time_s:.3f}", state.read_s)
    if abs(offset_s) <= limit_s + state.round_trip_s:
        return answer(state, "board_clock", True, value=value, wanted=wanted, evidence=evidence)
    way = "ahead of" if offset_s > 0 else "behind"
    reason = f"The board's clock is {quantities.elapsed(abs(offset_s))} {way} this machine's; set it (NTP)."
    return answer(state, "board_clock", False, value=value, wanted=wanted, reason=reason, evidence=evidence)


def sudo(state: DeviceState, profile: Profile) -> Check | None:
    """Whether root is to be had, where locking needs it."""
    if not profile.clocks.lock:
        return None
    wanted = "root through sudo"
    if state.sudo_problem:
        said = state.sudo_problem.rstrip(".")
        reason = f"Locking the clocks needs sudo, which is not to be had: {said}."
        evidence = Evidence("sudo true", said, state.read_s)
        return answer(state, "sudo", False, value="denied", wanted=wanted, reason=reason, evidence=evidence)
    if state.evidence_of("sudo") is None:
        return answer(state, "sudo", None, wanted=wanted)
    return answer(state, "sudo", True, value="works", wanted=wanted)


def temperature(state: DeviceState, limits: HealthLimits) -> Check | None:
    """Whether the hottest zone is below the limit."""
    hottest, limit_c = state.hottest(), limits.temperature_c
    wanted = "" if limit_c is None else f"below {limit_c:g} °C"
    if hottest is None:
        return None if limit_c is None else answer(state, "temperature", None, wanted=wanted)
    value = f"{hottest.celsius:.1f} °C ({hottest.zone})"
    ok = limit_c is None or hottest.celsius < limit_c
    reason = f"{hottest.zone} is at {hottest.celsius:.1f} °C; let the board cool below {limit_c or 0:g} °C."
    return answer(state, "temperature", ok, value=value, wanted=wanted, reason=reason)


def load(state: DeviceState, before: DeviceState | None, limits: HealthLimits) -> Check | None:
    """Whether something else keeps CPU or GPU busy: the load average, ticks between two looks, the GPU's load."""
    limit = limits.load_1min
    if limit is None and limits.load_per_core is not None and state.cores is not None:
        limit = limits.load_per_core * state.cores
    wanted = "" if limit is None else f"at most {limit:g} busy cores"
    gpu_percent = _idle_gpu_load(state, before)
    if limits.gpu_load_percent is not None and gpu_percent is not None:
        wanted = f"{wanted}, GPU at most {limits.gpu_load_percent:g} %".removeprefix(", ")
        if gpu_percent > limits.gpu_load_percent:
            reason = f"The GPU is {gpu_percent:.0f} % busy with something else; end it or wait."
            value = f"GPU {gpu_percent:.0f} %"
            return answer(state, "load", False, value=value, wanted=wanted, reason=reason, field="gpu_load")
    busy = _busy_cores(state, before)
    if limit is not None and busy is not None and busy > limit + _OWN_CORES:
        reason = f"Other processes keep {busy:.1f} cores busy just now; end them or wait."
        value = f"{busy:.1f} busy cores"
        return answer(state, "load", False, value=value, wanted=wanted, reason=reason, field="cpu_ticks")
    if state.load_1min is None:
        return None if limit is None else answer(state, "load", None, wanted=wanted)
    value = f"{state.load_1min:.2f} over 1 min"
    ok = limit is None or state.load_1min <= limit
    reason = f"The load average is {state.load_1min:.2f}: other processes are at work; end them or wait."
    return answer(state, "load", ok, value=value, wanted=wanted, reason=reason)


def _idle_gpu_load(state: DeviceState, before: DeviceState | None) -> float | None:
    """Return the GPU's load in a look that did not itself keep the GPU busy."""
    looks = [look for look in (state, before) if look is not None and not look.under_load]
    loads = [
        clock.load_percent
        for look in looks
        for clock in look.clocks
        if clock.kind == "gpu" and clock.load_percent is not None
    ]
    # Two looks find a GPU busy for long; one may have met a moment of the desktop's.
    return min(loads, default=None)


def _busy_cores(state: DeviceState, before: DeviceState | None) -> float | None:
    if before is None or state.under_load or state.cpu_ticks is None or before.cpu_ticks is None:
        return None
    seconds = state.read_s - before.read_s
    busy, every = (after - earlier for after, earlier in zip(state.cpu_ticks, before.cpu_ticks, strict=True))
    if not _WATCHED_S[0] <= seconds <= _WATCHED_S[1] or busy < 0 or every <= 0:
        return None
    return busy * _TICKS_S / seconds


def memory(state: DeviceState, limits: HealthLimits) -> Check | None:
    """Whether enough memory is available (not merely free)."""
    available, limit = state.memory_available_bytes, limits.memory_available_mib
    return _space(state, "memory", "available", available, state.memory_total_bytes, limit)


def disk(state: DeviceState, limits: HealthLimits) -> Check | None:
    """Whether the disk under the login folder has room for blobs and logs."""
    return _space(state, "disk", "free", state.disk_free_bytes, state.disk_total_bytes, limits.disk_free_mib)


def _space(
    state: DeviceState, name: str, word: str, left: int | None, total: int | None, limit_mib: int | None
) -> Check | None:
    wanted = "" if limit_mib is None else f"at least {quantities.size(limit_mib * _MIB)} {word}"
    if left is None:
        return None if limit_mib is None else answer(state, name, None, wanted=wanted)
    value = f"{quantities.size(left)} {word} of {quantities.size(total)}"
    ok = limit_mib is None or left >= limit_mib * _MIB
    where = (
        "of memory is available; end other programs" if name == "memory" else "of disk is free; remove files"
    )
    reason = f"Only {quantities.size(left)} {where} on the board."
    return answer(state, name, ok, value=value, wanted=wanted, reason=reason)


def battery(state: DeviceState, limits: HealthLimits) -> Check | None:
    """Whether the battery is full enough: a phone saves power from some charge on."""
    limit, percent = limits.battery_percent, state.battery_percent
    if limit is None:
        return None
    wanted = f"at least {limit:g} %"
    if percent is None:
        return answer(state, "battery", None, wanted=wanted)
    value = f"{percent:.0f} %" + (", charging" if state.battery_charging else "")
    reason = f"The battery is at {percent:.0f} %; charge it to {limit:g} % or more, then let it cool."
    return answer(state, "battery", percent >= limit, value=value, wanted=wanted, reason=reason)


def lease(state: DeviceState) -> Check:
    """Whether nobody holds the board."""
    wanted = "free"
    if state.lease is not None:
        held = state.lease
        reason = f"{held.owner} holds the board for {held.purpose!r} (pid {held.pid}); wait, or ask them."
        value = f"{held.owner}: {held.purpose}"
        return answer(state, "lease", False, value=value, wanted=wanted, reason=reason)
    if state.lease_free is None:
        return answer(state, "lease", None, wanted=wanted)
    reason = "Someone who has not signed yet holds the board; look again in a moment."
    value = "free" if state.lease_free else "held"
    return answer(state, "lease", state.lease_free, value=value, wanted=wanted, reason=reason)


def runtime(state: DeviceState) -> Check:
    """Whether the board has what runs kernels on it."""
    wanted = "a worker runtime"
    if state.worker_runtime is None:
        reason = "The board has no worker runtime yet; `edgelab devices bootstrap` sends one."
        return answer(state, "runtime", None, wanted=wanted, reason=reason)
    return answer(state, "runtime", True, value=state.worker_runtime[:12], wanted=wanted)


def throttling(state: DeviceState, before: DeviceState | None, profile: Profile) -> Check | None:
    """Whether the board is held back: now, or by counters that grew since the earlier look."""
    rules = profile.throttle
    counted = bool(rules.fail or rules.rates)
    wanted = "not throttled" + (", counters at rest" if counted else "")
    value = ", ".join(f"{name} {count}" for name, count in state.throttle_counts)
    if state.throttling:
        evidence = state.evidence_of("cooling") or state.evidence_of("throttling")
        cause = f" ({evidence.text.splitlines()[0]})" if evidence is not None and evidence.text else ""
        reason = f"The board is throttled now{cause}; let it cool or give it more power."
        value = value or "throttled"
        return answer(
            state, "throttling", False, value=value, wanted=wanted, reason=reason, evidence=evidence
        )
    if not counted:
        if state.throttling is None and not state.why_unknown("throttling"):
            return None
        ok = None if state.throttling is None else True
        return answer(state, "throttling", ok, value="none" if ok else "", wanted=wanted)
    watched = {name for name, _ in state.throttle_counts} & {*rules.fail, *rules.rates}
    if not watched:
        return answer(state, "throttling", None, wanted=wanted)
    if before is None:
        reason = "One look alone does not show whether the throttle counters grow."
        return answer(state, "throttling", None, value=value, wanted=wanted, reason=reason)
    if rebooted(before, state):
        reason = "The board was rebooted between the two looks, so its throttle counters began anew."
        return answer(state, "throttling", None, value=value, wanted=wanted, reason=reason)
    grown = counters_grown(state, before, profile)
    return answer(state, "throttling", grown is None, value=value, wanted=wanted, reason=grown or "")


def rebooted(before: DeviceState, state: DeviceState) -> bool:
    """Whether the board was booted between two looks: by its boot id, its uptime or a counter that fell."""
    if before.boot_id is not None and state.boot_id is not None:
        return before.boot_id != state.boot_id
    if before.uptime_s is not None and state.uptime_s is not None and state.uptime_s < before.uptime_s:
        return True
    earlier = dict(before.throttle_counts)
    return any(count < earlier.get(name, 0) for name, count in state.throttle_counts)


def counters_grown(state: DeviceState, before: DeviceState, profile: Profile) -> str | None:
    """Return which throttle counters grew more than the profile allows, as a sentence; None for none."""
    rules = profile.throttle
    seconds = _seconds_between(state, before)
    earlier = dict(before.throttle_counts)
    said: list[str] = []
    for name, count in state.throttle_counts:
        growth = count - earlier.get(name, count)
        # Below one second a single event would pass for a high rate.
        allowed = rules.rates.get(name, 0.0) * max(seconds, 1.0)
        if growth > 0 and (name in rules.fail or (name in rules.rates and growth > allowed)):
            said.append(f"{name} by {growth}")
    if not said:
        return None
    return f"Throttle counters grew within {quantities.elapsed(seconds)}: {', '.join(said)}."


def _seconds_between(state: DeviceState, before: DeviceState) -> float:
    if state.uptime_s is not None and before.uptime_s is not None:
        return max(state.uptime_s - before.uptime_s, 0.0)
    return max(state.read_s - before.read_s, 0.0)


def with_required(checks: list[Check], profile: Profile) -> tuple[Check, ...]:
    """Mark the checks that the profile requires an answer to."""
    names = frozenset(profile.required)
    return tuple(msgspec.structs.replace(check, required=check.name in names) for check in checks)
