"""The readings of one board as lines: each with its unit, where it came from, and why it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.screens.board_words import is_old, mhz
from edgelab.widgets.marks import spark
from edgelab.widgets.spans import Line, Span, fit, pad, rule, width

if TYPE_CHECKING:
    from edgelab.drivers.device_state import ClockDomain, DeviceState
    from edgelab.lab.board_view import BoardView
    from edgelab.screens.board_history import BoardHistory

_NAME_CELLS = 13
_VALUE_CELLS = 34
"""From here on a line has room for the source of its value."""

_LEAST_SOURCE_CELLS = 12
_MOST_SPARK_CELLS = 60


def reading_lines(view: BoardView, history: BoardHistory, now_s: float, cells: int) -> list[Line]:
    """Return all readings of a board as lines of `cells`."""
    state = view.state
    if state is None:
        return [rule("Readings", cells), [Span("  Nothing was read yet.", "muted")]]
    style = "faint" if is_old(view, now_s) else "text"
    page = _Page(state, style, cells)
    age = f"{'stale, ' if is_old(view, now_s) else ''}{fmt.age(now_s - state.read_s)}"
    lines = [rule("Readings", cells, age)]
    lines.append(page.line("system", ", ".join(_system(state)) or None, "identity"))
    lines.append(page.line("mode", state.power_mode.name if state.power_mode else None, "power_mode"))
    lines += _clock_lines(view, state, history, now_s, page)
    lines += _spark_lines(history, cells)
    lines += _health_lines(state, page)
    return lines + _holding_lines(state, now_s, page)


class _Page:
    """Lays out one reading a line for one state."""

    def __init__(self, state: DeviceState, style: str, cells: int) -> None:
        self._state, self._style, self.cells = state, style, cells

    def line(self, name: str, value: str | None, field: str, source: str = "") -> Line:
        """Return a line of a value; its source and the reason why it is unknown are those of `field`."""
        evidence = self._state.evidence_of(field)
        source = source or (evidence.source if evidence is not None else "")
        return self.said(name, value, self._state.why_unknown(field), source)

    def said(self, name: str, value: str | None, why: str, source: str = "", *, note: str = "") -> Line:
        """Return a line of a value with its source at the right, or of why it is unknown."""
        head = Span(f"  {name[: _NAME_CELLS - 1]:<{_NAME_CELLS}}", "muted")
        if value is None or value == fmt.UNKNOWN:
            reason = f"  {why}" if why else ""
            return fit([head, Span(fmt.with_word(fmt.UNKNOWN), "faint"), Span(reason, "faint")], self.cells)
        left: Line = [head, Span(value, self._style)]
        if note:
            left.append(Span(f"  {note}", "muted"))
        return _with_source(left, source, self.cells)


def _with_source(left: Line, source: str, cells: int) -> Line:
    """Return a line with its source at the right end, as much of its end as there is room for."""
    room = cells - width(left) - 2
    if not source or cells < _NAME_CELLS + _VALUE_CELLS or room < _LEAST_SOURCE_CELLS:
        return fit(left, cells)
    shown = source if len(source) <= room else f"…{source[-(room - 1) :]}"
    return [*pad(left, cells - len(shown)), Span(shown, "faint")]


def _system(state: DeviceState) -> list[str]:
    named = [text for text in (state.model, state.system) if text]
    return [*named, f"{state.cores} cores"] if state.cores is not None else named


def _clock_lines(
    view: BoardView, state: DeviceState, history: BoardHistory, now_s: float, page: _Page
) -> list[Line]:
    lines = [_clock_line(clock, view.gpu_target_hz, page) for clock in state.clocks]
    if state.clock("gpu") is None:
        lines.insert(0, page.line("GPU", None, "gpu_clock"))
    if state.clock("cpu") is None:
        lines.append(page.line("CPU", None, "cpu_clock"))
    if state.clock("memory") is None:
        found = history.memory
        if found is None:
            lines.append(page.line("memory clock", None, "memory_clock"))
        else:
            age = fmt.age(now_s - history.memory_read_s)
            limits = _limits(found)
            value = f"{mhz(found.current_hz)} MHz"
            lines.append(page.said("memory clock", value, "", found.source, note=f"{limits}  read {age}"))
    return lines


def _clock_line(clock: ClockDomain, gpu_target_hz: int | None, page: _Page) -> Line:
    kind = {"gpu": "GPU", "cpu": "CPU", "npu": "NPU", "memory": "memory clock"}[clock.kind]
    number = clock.name.removeprefix("policy")
    name = f"{kind} {number}" if clock.kind == "cpu" else kind
    now = None
    if clock.current_hz is not None:
        target = f" of {mhz(gpu_target_hz)}" if clock.kind == "gpu" and gpu_target_hz else ""
        now = f"{mhz(clock.current_hz)}{target} MHz"
        if clock.measured_hz is not None:
            now += f", really {mhz(clock.measured_hz)}"
    notes = [part for part in (_limits(clock), clock.governor or "") if part]
    return page.said(name, now, clock.problem, clock.source, note="  ".join(notes))


def _limits(clock: ClockDomain) -> str:
    if clock.min_hz is None or clock.max_hz is None:
        return ""
    return "held" if clock.min_hz == clock.max_hz else f"{mhz(clock.min_hz)}…{mhz(clock.max_hz)}"


def _spark_lines(history: BoardHistory, cells: int) -> list[Line]:
    def clock(value: float) -> str:
        return f"{mhz(value)} MHz"

    known_gpu = any(value is not None for value in history.gpu_hz)
    name, clocks = ("GPU 2 min", history.gpu_hz) if known_gpu else ("CPU 2 min", history.cpu_hz)
    lines = [
        _spark_line(name, clocks, clock, cells),
        _spark_line("heat 2 min", history.celsius, fmt.temperature, cells),
    ]
    return [line for line in lines if line]


def _spark_line(name: str, values: Sequence[float | None], label: Callable[[float], str], cells: int) -> Line:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return []
    low, high = min(known), max(known)
    # A steady value stands in the middle: neither at zero nor at its top.
    room = max(high * 0.05, 1.0) if high - low < 0.01 * abs(high) else 0.0
    said = f"  {label(low)}" if room else f"  {label(low)} … {label(high)}"
    drawn_cells = min(max(cells - _NAME_CELLS - 2 - len(said), 8), _MOST_SPARK_CELLS)
    drawn = spark(values, drawn_cells, low - room, high + room)
    head = Span(f"  {name:<{_NAME_CELLS}}", "muted")
    return fit([head, Span(drawn, "accent"), Span(said, "faint")], cells)


def _health_lines(state: DeviceState, page: _Page) -> list[Line]:
    hottest = state.hottest()
    heat = f"{fmt.temperature(hottest.celsius)} at {hottest.zone}" if hottest else None
    counts = "  ".join(f"{name} {count}" for name, count in state.throttle_counts)
    now = {True: "now", False: "not now", None: ""}[state.throttling]
    throttled = "  ".join(part for part in (now, f"events since boot: {counts}" if counts else "") if part)
    load = None if state.load_1min is None else f"{fmt.plain(state.load_1min)} over 1 min"
    lines = [
        page.line("temperature", heat, "temperature", hottest.source if hottest else ""),
        page.line("throttled", throttled or None, "throttling"),
        page.line("load", load, "load"),
        page.line(
            "memory", _free(state.memory_available_bytes, state.memory_total_bytes, "available"), "memory"
        ),
        page.line("disk", _free(state.disk_free_bytes, state.disk_total_bytes, "free"), "disk"),
    ]
    if state.battery_percent is not None:
        charging = {True: ", charging", False: ", not charging", None: ""}[state.battery_charging]
        lines.append(page.line("battery", f"{fmt.percent(state.battery_percent)}{charging}", "battery"))
    return lines


def _free(free: int | None, total: int | None, word: str) -> str | None:
    return None if free is None else f"{fmt.size(free)} {word} of {fmt.size(total)}"


def _holding_lines(state: DeviceState, now_s: float, page: _Page) -> list[Line]:
    holder = None
    if state.lease is not None:
        since = fmt.age(now_s - state.lease.since_s)
        holder = f"{state.lease.owner}: {state.lease.purpose} (pid {state.lease.pid}), since {since}"
    elif state.lease_free:
        holder = "nobody"
    lines = [page.line("held by", holder, "lease")]
    if state.saved is not None:
        saved = state.saved
        said = f"what it had, stored {fmt.age(now_s - saved.saved_s)} by {saved.owner} for {saved.purpose}"
        lines.append(page.said("to restore", said, "", ".edgelab/saved.json"))
    runtime = state.worker_runtime[:12] if state.worker_runtime else "none yet: edgelab devices bootstrap"
    return [*lines, page.said("worker", runtime, "", ".edgelab/runtime/current")]
