"""What the Lab screen says of a device: its readings, their history as plots, and what was read in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edgelab import quantities as fmt
from edgelab.widgets.marks import bar, spark
from edgelab.widgets.plot import Curve, Plot, nice_limits, plot_lines, widened
from edgelab.widgets.spans import Line, Span, beside, fit, rule, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgelab.lab.device import Device
    from edgelab.lab.host import HostState
    from edgelab.store.records import StoredSample

HISTORY = 120
"""Readings kept: two minutes."""

WIDE_CELLS = 110
"""From here on a card has two columns."""

_STALE_S = 5.0

_CLOCK_SHARE = 0.2
"""Least part of a clock's size that its axis spans: a steady clock is then a steady line."""


class HostHistory(msgspec.Struct, frozen=True):
    """The newest state and two minutes of clock and processor load; None where unknown."""

    state: HostState | None = None
    clock_hz: tuple[float | None, ...] = ()
    cpu_percent: tuple[float | None, ...] = ()


def device_card(
    device: Device,
    history: HostHistory,
    now_s: float,
    cells: int,
    *,
    plot_rows: int = 0,
    sample: StoredSample | None = None,
) -> list[Line]:
    """Return one device as lines of `cells`: name, readings with bars, history, the age of the values.

    `sample` is the newest state that a run read off the device between its timing blocks.

    The history is two sparklines, or two plots of `plot_rows` lines where there is that much room.
    """
    lines = _heading(device, history, now_s, cells)
    state = history.state
    if state is None:
        return [*lines, [Span("  reading…", "muted")]]
    half = cells >= WIDE_CELLS
    wide = (cells - 4) // 2 if half else cells
    sparks = not (half and plot_rows >= 5)
    left = _processor(state, history, wide, sparks)
    right = _memory(state, wide) + _sampled(sample, now_s, wide)
    if not half:
        return [*lines, *left, *right]
    lines += beside(left, right, wide, 4)
    if sparks:
        return lines
    clock, load = _plots(history)
    plots = beside(plot_lines(clock, wide, plot_rows), plot_lines(load, wide, plot_rows), wide, 4)
    return [*lines, [], *plots]


def _heading(device: Device, history: HostHistory, now_s: float, cells: int) -> list[Line]:
    state = history.state
    title: Line = [Span("● ", "accent"), Span(device.title or device.profile, "text bold")]
    if device.simulated:
        title.append(Span("  simulated: kernels run on this machine's processor", "warn"))
    age = [] if state is None else [_age(now_s - state.sampled_s)]
    lines = [rule(device.name, cells, device.backend), spread(title, age, cells)]
    if state is not None:
        cores = "" if state.cores is None else f", {state.cores} cores"
        model = (state.cpu_model or fmt.with_word(fmt.UNKNOWN)) + cores
        lines += [_reading("model", [Span(model, "text")], cells), []]
    return lines


def _plots(history: HostHistory) -> tuple[Plot, Plot]:
    limits, top_hz = _clock_limits(history)
    clock = Plot(
        "Clock",
        (Curve(_aged(history.clock_hz), "accent"),),
        clock_label,
        # No clock stands at zero: an axis from there would hide what the clock does.
        note="last two minutes, axis not from 0" + (", ┄ maximum" if top_hz else ""),
        empty="the clock cannot be read here",
        reference=top_hz,
        limits=limits,
    )
    load = Plot(
        "Processor",
        (Curve(_aged(history.cpu_percent), "baseline"),),
        fmt.percent,
        note="last two minutes, all cores",
        empty="the load is not known yet",
        limits=(0.0, 100.0),
    )
    return clock, load


def _clock_limits(history: HostHistory) -> tuple[tuple[float, float] | None, float | None]:
    """Return the limits of the clock's axis, and the maximum where it is near enough to be drawn."""
    known = [value for value in history.clock_hz if value is not None]
    if not known:
        return None, None
    low, high = widened(min(known), max(known), _CLOCK_SHARE)
    top_hz = history.state.cpu_freq_max_hz if history.state else None
    if top_hz is not None and max(known) <= top_hz <= max(known) * 1.3:
        high = max(high, top_hz)
    else:
        top_hz = None
    return nice_limits(low, high), top_hz


def clock_label(freq_hz: float) -> str:
    """Return a clock with the two decimals that tell the ends of a short axis apart: `3.47 GHz`."""
    return f"{freq_hz / 1e9:.2f} GHz" if freq_hz >= 1e9 else fmt.frequency(freq_hz)


def _aged(values: tuple[float | None, ...]) -> list[float | None]:
    """Return two minutes of values that end now: what was before the first is a gap."""
    return [None] * (HISTORY - len(values)) + list(values)


def _age(age_s: float) -> Span:
    if age_s <= _STALE_S:
        return Span(fmt.age(age_s), "faint")
    return Span(f"stale, read {fmt.age(age_s)}", "warn")


def _reading(name: str, rest: Sequence[Span], cells: int) -> Line:
    return fit([Span(f"  {name:<12}", "muted"), *rest], cells)


def _gauge(name: str, used: float | None, said: str, cells: int) -> Line:
    if used is None:
        return _reading(name, [Span(fmt.with_word(fmt.UNKNOWN), "faint")], cells)
    style = "bad" if used > 0.95 else "warn" if used > 0.85 else "accent"
    wide = min(max(cells - 48, 8), 24)
    return _reading(
        name, [*bar(used, wide, style), Span(f" {used * 100:3.0f} %  ", "text"), Span(said, "muted")], cells
    )


def _processor(state: HostState, history: HostHistory, cells: int, sparks: bool) -> list[Line]:
    top_hz = state.cpu_freq_max_hz
    clock = fmt.with_word(fmt.frequency(state.cpu_freq_hz))
    of = f" of {fmt.frequency(top_hz)} max" if top_hz is not None else "  (maximum unknown)"
    source = f"  {state.cpu_freq_source}" if state.cpu_freq_source else ""
    load = fmt.plain(state.load_1min)
    lines = [
        _reading("clock", [Span(clock, "text"), Span(of, "muted"), Span(source, "faint")], cells),
        _reading("governor", [Span(state.governor or fmt.with_word(fmt.UNKNOWN), "text")], cells),
        _reading("temperature", [Span(fmt.with_word(fmt.temperature(state.temperature_c)), "text")], cells),
        _reading("load", [Span(load, "text"), Span(" over 1 min, ", "muted"), *_busy(state)], cells),
    ]
    if sparks:
        known = [value for value in history.clock_hz if value is not None]
        low, high = widened(min(known), max(known), _CLOCK_SHARE) if known else (0.0, 0.0)
        limits = (low, high, clock_label)
        lines.insert(1, _spark(history.clock_hz, limits, "accent", cells))
        lines.append(_spark(history.cpu_percent, (0.0, 100.0, fmt.percent), "baseline", cells))
    return lines


def _spark(
    values: Sequence[float | None],
    limits: tuple[float, float, Callable[[float], str]],
    style: str,
    cells: int,
) -> Line:
    """Return a sparkline, and in words what its lowest and highest blocks stand for."""
    low, high, label = limits
    if all(value is None for value in values):
        return []
    said = f"  ▁ {label(low)}  █ {label(high)}"
    room = min(max(cells - 16 - len(said), 8), 60)
    return _reading("", [Span(spark(values, room, low, high), style), Span(said, "faint")], cells)


def _sampled(sample: StoredSample | None, now_s: float, cells: int) -> list[Line]:
    if sample is None:
        return []
    state = sample.state
    said = (
        f"{fmt.frequency(state.cpu_freq_hz)}, {fmt.temperature(state.temperature_c)}, "
        f"load {fmt.plain(state.load_1min)}"
    )
    age = f"  {fmt.age(now_s - sample.time_s)}, run {sample.run}"
    return [_reading("in last run", [Span(said, "text"), Span(age, "faint")], cells)]


def _busy(state: HostState) -> Line:
    return [Span(fmt.percent(state.cpu_percent), "text"), Span(" of all cores busy", "muted")]


def _memory(state: HostState, cells: int) -> list[Line]:
    lines = []
    for name, total, free in (
        ("memory", state.memory_total_bytes, state.memory_available_bytes),
        ("disk", state.disk_total_bytes, state.disk_free_bytes),
    ):
        used = None if not total or free is None else 1.0 - free / total
        lines.append(_gauge(name, used, f"{fmt.size(free)} free of {fmt.size(total)}", cells))
    return lines
