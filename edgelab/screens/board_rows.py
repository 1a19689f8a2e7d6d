"""The devices as rows of a table: one a device, with the numbers that tell whether it is fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgelab import quantities as fmt
from edgelab.screens.board_words import clock_hz, is_old, note, state_span, verdict_span
from edgelab.widgets.spans import Span
from edgelab.widgets.table import Column, Row

if TYPE_CHECKING:
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device

COLUMNS = (
    Column("Device", 14, priority=0),
    Column("State", 12, priority=0),
    Column("Check", 11, priority=1),
    Column("Mode", 9, priority=6),
    Column("GPU MHz", 11, priority=2, right=True),
    Column("CPU MHz", 7, priority=5, right=True),
    Column("Mem MHz", 7, priority=7, right=True),
    Column("Temp", 6, priority=2, right=True),
    Column("Throttled", 9, priority=6, right=True),
    Column("Load", 5, priority=4, right=True),
    Column("Memory", 8, priority=10, right=True),
    Column("Disk", 8, priority=9, right=True),
    Column("Held by", 12, priority=5),
    Column("Age", 8, priority=3, right=True),
    Column("What to know", 16, priority=8, grow=True),
)


def board_rows(
    devices: Sequence[Device], views: Mapping[str, BoardView], marked: frozenset[str], now_s: float
) -> list[Row]:
    """Return the rows, in the lab's order."""
    return [_row(device, views.get(device.name), device.name in marked, now_s) for device in devices]


def _row(device: Device, view: BoardView | None, marked: bool, now_s: float) -> Row:
    state = view.state if view is not None else None
    old = is_old(view, now_s)
    hottest = state.hottest() if state else None
    mode = state.power_mode.name if state and state.power_mode else None
    counts = sum(count for _, count in state.throttle_counts) if state and state.throttle_counts else None
    age_s = now_s - state.read_s if state else None
    said = note(view)
    memory = state.memory_available_bytes if state else None
    disk = state.disk_free_bytes if state else None
    texts: list[tuple[Span, Any]] = [
        (_name(device, marked), device.name),
        (state_span(view), state_span(view).text),
        (verdict_span(view), verdict_span(view).text),
        (_value(mode, old), mode),
        (_gpu(view, old), clock_hz(view, "gpu")),
        (_value(_mhz(clock_hz(view, "cpu")), old), clock_hz(view, "cpu")),
        (_value(_mhz(clock_hz(view, "memory")), old), clock_hz(view, "memory")),
        (_value(fmt.temperature(hottest.celsius) if hottest else None, old), hottest and hottest.celsius),
        (_throttled(state.throttling if state else None, counts, old), counts),
        (_value(fmt.plain(state.load_1min) if state else None, old), state and state.load_1min),
        (_value(fmt.size(memory), old), memory),
        (_value(fmt.size(disk), old), disk),
        (_value(state.lease.owner if state and state.lease else None, old, empty=""), None),
        (Span(fmt.age(age_s), "warn" if old and age_s is not None else "faint"), age_s),
        (Span(said, "muted"), said or None),
    ]
    searched = f"{device.name} {device.profile} {device.title} {state_span(view).text} {verdict_span(view).text} {said}"
    return Row(device.name, tuple(span for span, _ in texts), tuple(order for _, order in texts), searched)


def _name(device: Device, marked: bool) -> Span:
    simulated = " sim" if device.simulated and not device.name.startswith("sim") else ""
    return Span(f"{'▪ ' if marked else ''}{device.name}{simulated}", "accent bold" if marked else "text")


def _value(text: str | None, old: bool, *, empty: str = fmt.UNKNOWN) -> Span:
    if text is None or text == fmt.UNKNOWN:
        return Span(empty, "faint")
    return Span(text, "faint" if old else "text")


def _gpu(view: BoardView | None, old: bool) -> Span:
    hz, target_hz = clock_hz(view, "gpu"), view.gpu_target_hz if view is not None else None
    if hz is None:
        return Span(fmt.UNKNOWN, "faint")
    if target_hz is None:
        return _value(_mhz(hz), old)
    near = abs(hz - target_hz) <= 0.01 * target_hz
    return Span(f"{_mhz(hz)}/{_mhz(target_hz)}", "faint" if old else "text" if near else "warn")


def _mhz(freq_hz: int | None) -> str | None:
    return None if freq_hz is None else f"{freq_hz / 1e6:.0f}"


def _throttled(throttling: bool | None, counts: int | None, old: bool) -> Span:
    if throttling:
        return Span("now", "bad")
    if counts is not None:
        return Span(f"{counts} times" if counts else "never", "faint" if old else "text")
    return Span("no", "faint" if old else "text") if throttling is False else Span(fmt.UNKNOWN, "faint")
