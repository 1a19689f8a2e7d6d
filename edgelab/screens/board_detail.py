"""Everything that is known of one board: readings with their sources, the last check, what is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.screens.board_history import BoardHistory
from edgelab.screens.board_words import is_old, state_span, verdict_span
from edgelab.widgets.marks import spark
from edgelab.widgets.spans import Line, Span, beside, fit, rule, spread, wrap

if TYPE_CHECKING:
    from edgelab.drivers.check import Check
    from edgelab.drivers.device_state import ClockDomain, DeviceState
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device

WIDE_CELLS = 110
_NAME_CELLS = 13
_MARKS = {True: ("✓", "good"), False: ("✗", "bad"), None: ("?", "warn")}


def board_lines(
    device: Device, view: BoardView | None, history: BoardHistory, now_s: float, cells: int
) -> list[Line]:
    """Return the detail of a board as lines of `cells`; two columns where there is room."""
    lines = _heading(device, view, now_s, cells)
    if view is None:
        return [*lines, [Span("  The device monitor has not told of it yet.", "muted")]]
    lines += _trouble(view, cells)
    half = (cells - 4) // 2 if cells >= WIDE_CELLS else cells
    left = _readings(view, history, now_s, half)
    right = [*_checks(view, now_s, half), *_activity(view, half)]
    if cells >= WIDE_CELLS:
        return [*lines, *beside(left, right, half, 4)]
    return [*lines, *right, *left]


def _heading(device: Device, view: BoardView | None, now_s: float, cells: int) -> list[Line]:
    place = "simulated: kernels run on this machine's processor" if device.simulated else device.host
    title: Line = [state_span(view), Span("  "), Span(device.title or device.profile, "text bold")]
    title.append(Span(f"  {place}", "warn" if device.simulated else "muted"))
    right: Line = [verdict_span(view)] if view is not None and view.check is not None else []
    if view is not None and view.state is not None:
        age_s = now_s - view.state.read_s
        old = is_old(view, now_s)
        right += [Span(f"  {'stale, ' if old else ''}read {fmt.age(age_s)}", "warn" if old else "faint")]
    return [rule(device.name, cells, device.backend), spread(title, right, cells)]


def _trouble(view: BoardView, cells: int) -> list[Line]:
    if not view.problem:
        return []
    said = [[Span(f"  {line}", "bad")] for line in wrap(view.problem, cells - 2)]
    advice = [[Span(f"  {line}", "muted")] for line in wrap(view.advice, cells - 2)] if view.advice else []
    hints = {"unknown": "u trusts this key", "sudo": "p gives the password"}
    key = next((hint for word, hint in hints.items() if word in view.problem or word in view.advice), "")
    return [*said, *advice, *([[Span(f"  {key}", "accent")]] if key and view.link == "failed" else []), []]


def _readings(view: BoardView, history: BoardHistory, now_s: float, cells: int) -> list[Line]:
    state = view.state
    if state is None:
        return [[Span("  Nothing was read yet.", "muted")]]
    style = "muted" if is_old(view, now_s) else "text"
    mode = f"{state.power_mode.name}" if state.power_mode else None
    lines = [
        rule("Readings", cells),
        _reading("system", state.system or state.model, state.why_unknown("system"), cells, style),
        _reading("mode", mode, state.why_unknown("power_mode"), cells, style),
    ]
    for clock in state.clocks:
        lines += _clock(clock, view, cells, style)
    lines += _sparks(history, cells)
    return [*lines, *_health(state, now_s, cells, style)]


def _clock(clock: ClockDomain, view: BoardView, cells: int, style: str) -> list[Line]:
    target = f" of {_mhz(view.gpu_target_hz)}" if clock.kind == "gpu" and view.gpu_target_hz else ""
    limits = ""
    if clock.min_hz is not None and clock.max_hz is not None:
        held = clock.min_hz == clock.max_hz
        limits = "  held" if held else f"  {_mhz(clock.min_hz)}…{_mhz(clock.max_hz)}"
    real = f"  really {_mhz(clock.measured_hz)}" if clock.measured_hz is not None else ""
    governor = f"  {clock.governor}" if clock.governor else ""
    now = None if clock.current_hz is None else f"{_mhz(clock.current_hz)}{target} MHz{real}"
    line = _reading(
        clock.name.removeprefix("policy"), now, clock.problem, cells - 22, style, prefix=clock.kind
    )
    return [fit([*line, Span(limits, "muted"), Span(governor, "muted")], cells)]


def _mhz(freq_hz: int | None) -> str:
    return fmt.UNKNOWN if freq_hz is None else f"{freq_hz / 1e6:.0f}"


def _reading(name: str, value: str | None, why: str, cells: int, style: str, *, prefix: str = "") -> Line:
    label = f"{prefix} {name}".strip() if prefix != name else name
    head = Span(f"  {label[: _NAME_CELLS - 1]:<{_NAME_CELLS}}", "muted")
    if value is None or value == fmt.UNKNOWN:
        return fit([head, Span(fmt.with_word(fmt.UNKNOWN), "faint"), Span(f"  {why}", "faint")], cells)
    return fit([head, Span(value, style)], cells)


def _sparks(history: BoardHistory, cells: int) -> list[Line]:
    lines = []
    for name, values, label in (
        ("clock", history.clock_hz, lambda value: f"{value / 1e6:.0f} MHz"),
        ("heat", history.celsius, fmt.temperature),
    ):
        known = [value for value in values if value is not None]
        if len(known) < 2:
            continue
        low, high = min(known), max(known)
        room = max(low * 0.05, 1.0) if high - low < 1e-9 else 0.0
        said = f"  {label(low)} … {label(high)}, 2 min"
        drawn = spark(values, min(max(cells - _NAME_CELLS - len(said) - 4, 8), 60), low - room, high + room)
        lines.append(
            fit(
                [Span(f"  {name:<{_NAME_CELLS}}", "muted"), Span(drawn, "accent"), Span(said, "faint")], cells
            )
        )
    return lines


def _health(state: DeviceState, now_s: float, cells: int, style: str) -> list[Line]:
    hottest = state.hottest()
    heat = f"{fmt.temperature(hottest.celsius)}  {hottest.zone}" if hottest else None
    counts = "  ".join(f"{name} {count}" for name, count in state.throttle_counts)
    throttled = {True: "yes, now", False: "no", None: None}[state.throttling]
    holder = None
    if state.lease is not None:
        since = fmt.age(now_s - state.lease.since_s)
        holder = f"{state.lease.purpose} of {state.lease.owner} (pid {state.lease.pid}), taken {since}"
    elif state.lease_free:
        holder = "nobody"
    battery = None if state.battery_percent is None else fmt.percent(state.battery_percent)
    saved = state.saved
    stored = None if saved is None else f"by {saved.owner} for {saved.purpose}, {fmt.clock(saved.saved_s)}"
    lines = [
        _reading("temperature", heat, state.why_unknown("temperature"), cells, style),
        _reading("throttled", counts or throttled, state.why_unknown("throttling"), cells, style),
        _reading("load", fmt.plain(state.load_1min), state.why_unknown("load"), cells, style),
        _space("memory", state.memory_available_bytes, state.memory_total_bytes, state, cells, style),
        _space("disk", state.disk_free_bytes, state.disk_total_bytes, state, cells, style),
    ]
    if battery is not None:
        lines.append(_reading("battery", battery, "", cells, style))
    lines.append(_reading("held by", holder, state.why_unknown("lease"), cells, style))
    if stored is not None:
        lines.append(_reading("stored", f"what it had, {stored}", "", cells, style))
    runtime = state.worker_runtime[:12] if state.worker_runtime else "none yet: edgelab devices bootstrap"
    return [*lines, _reading("worker", runtime, "", cells, style)]


def _space(
    name: str, free: int | None, total: int | None, state: DeviceState, cells: int, style: str
) -> Line:
    said = None if free is None else f"{fmt.size(free)} free of {fmt.size(total)}"
    return _reading(name, said, state.why_unknown(name), cells, style)


def _checks(view: BoardView, now_s: float, cells: int) -> list[Line]:
    report = view.check
    if report is None:
        key: Line = [
            Span("  c", "accent", "screen.check"),
            Span(" checks it: fit for a session, or why not.", "muted"),
        ]
        return [rule("Check", cells), key]
    lines = [rule("Check", cells, fmt.age(now_s - report.checked_s))]
    # What is wrong first: it is what the operator came for.
    order = {False: 0, None: 1, True: 2}
    for check in sorted(report.checks, key=lambda check: order[check.ok]):
        lines += _check(check, cells)
    return lines


def _check(check: Check, cells: int) -> list[Line]:
    mark, style = _MARKS[check.ok]
    if check.ok is None and not check.required:
        style = "muted"
    head: Line = [Span(f"  {mark} ", style), Span(f"{check.name:<13}", "muted")]
    if check.ok or not check.reason:
        return [fit([*head, Span(check.value, "text")], cells)]
    source = f" [{check.evidence.source}]" if check.evidence else ""
    text = wrap(f"{check.reason}{source}", cells - 17)
    lines: list[Line] = [[*head, Span(text[0], style)]]
    return [*lines, *([Span(" " * 17), Span(more, style)] for more in text[1:])]


def _activity(view: BoardView, cells: int) -> list[Line]:
    lines: list[Line] = []
    if view.steps:
        title = {"": "Last done", "check": "Checking", "lock": "Locking", "restore": "Restoring"}[
            view.activity
        ]
        lines = [[], rule(title, cells)]
        for step in view.steps[-8:]:
            lines += [[Span(f"  {line}", "muted")] for line in wrap(step, cells - 2)]
    lock = view.lock
    if lock is not None and not view.activity and not lock.locked and lock.problem:
        lines += [[], rule("Not locked", cells)]
        lines += [[Span(f"  {line}", "bad")] for line in wrap(f"{lock.problem} {lock.advice}", cells - 2)]
    return lines
