"""The devices as rows of a table: one a device, with the numbers that tell whether it is fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgelab import quantities as fmt
from edgelab.screens.board_words import (
    clock_hz,
    is_old,
    mhz,
    need_of,
    need_words,
    note,
    short_age,
    state_span,
    verdict_span,
)
from edgelab.widgets.spans import Span
from edgelab.widgets.table import Column, Row

if TYPE_CHECKING:
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device

_NAME_CELLS = (14, 26)
_TOLERANCE = 0.01


def device_columns(devices: Sequence[Device]) -> tuple[Column, ...]:
    """Return the columns for a lab. Their widths never change after that, so that nothing jumps."""
    least, most = _NAME_CELLS
    longest = max((len(_name_text(device)) + 2 for device in devices), default=least)
    return (
        Column("Device", min(max(longest, least), most), priority=0),
        Column("State", 12, priority=0),
        Column("Check", 11, priority=1),
        Column("Mode", 8, priority=6),
        Column("GPU MHz", 9, priority=2, right=True),
        Column("CPU MHz", 7, priority=5, right=True),
        Column("Mem MHz", 7, priority=7, right=True),
        Column("Temp", 6, priority=2, right=True),
        Column("Throttle", 8, priority=6, right=True),
        Column("Load", 4, priority=4, right=True),
        Column("Memory", 7, priority=10, right=True),
        Column("Disk", 7, priority=9, right=True),
        Column("Held by", 10, priority=5),
        Column("Age", 5, priority=3, right=True),
        Column("What to know", 14, priority=8, grow=True),
    )


class BoardRows:
    """Makes the rows of a lab; a device of which nothing changed keeps its row."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[BoardView | None, tuple[object, ...], Row]] = {}

    def rows(
        self,
        devices: Sequence[Device],
        views: Mapping[str, BoardView],
        marked: frozenset[str],
        target: str,
        now_s: float,
    ) -> list[Row]:
        """Return the rows in the lab's order. Runs go to the device `target`."""
        return [
            self._row(device, views.get(device.name), device.name in marked, device.name == target, now_s)
            for device in devices
        ]

    def _row(
        self, device: Device, view: BoardView | None, marked: bool, is_target: bool, now_s: float
    ) -> Row:
        age_s = now_s - view.state.read_s if view is not None and view.state is not None else None
        # Of what depends on the time, only what is shown of it counts.
        shown = (marked, is_target, short_age(age_s), is_old(view, now_s))
        kept = self._kept.get(device.name)
        if kept is not None and kept[0] is view and kept[1] == shown:
            return kept[2]
        row = board_row(device, view, marked=marked, is_target=is_target, now_s=now_s)
        self._kept[device.name] = (view, shown, row)
        return row


def board_row(
    device: Device, view: BoardView | None, *, marked: bool = False, is_target: bool = False, now_s: float
) -> Row:
    """Return the row of one device."""
    state = view.state if view is not None else None
    old = is_old(view, now_s)
    hottest = state.hottest() if state else None
    mode = state.power_mode.name if state and state.power_mode else None
    counts = sum(count for _, count in state.throttle_counts) if state and state.throttle_counts else None
    age_s = now_s - state.read_s if state else None
    said = need_words(need_of(device, view)) or note(view)
    memory = state.memory_available_bytes if state else None
    disk = state.disk_free_bytes if state else None
    load = state.load_1min if state else None
    holder = state.lease.owner if state and state.lease else ""
    check = verdict_span(view.check if view is not None else None)
    age_style = "warn" if old and age_s is not None else "faint"
    texts: list[tuple[Span, Any]] = [
        (_name(device, marked, is_target), device.name),
        (state_span(view), state_span(view).text),
        (check, check.text),
        (_value(mode, old), mode),
        (_gpu(view, old), clock_hz(view, "gpu")),
        (_value(mhz(clock_hz(view, "cpu")), old), clock_hz(view, "cpu")),
        (_value(mhz(clock_hz(view, "memory")), old), clock_hz(view, "memory")),
        (_value(fmt.temperature(hottest.celsius if hottest else None), old), hottest and hottest.celsius),
        (_throttled(state.throttling if state else None, counts, old), counts),
        (_value(_load(load), old), load),
        (_value(_size(memory), old), memory),
        (_value(_size(disk), old), disk),
        (Span(holder, "faint" if old else "text"), holder or None),
        (Span(short_age(age_s), age_style), age_s),
        (Span(said, "muted"), said or None),
    ]
    simulated = "simulated" if device.simulated else ""
    searched = " ".join(
        (device.name, device.profile, device.title, simulated, state_span(view).text, check.text, said)
    )
    return Row(device.name, tuple(span for span, _ in texts), tuple(order for _, order in texts), searched)


def _name_text(device: Device) -> str:
    """Return the name, and what kind it is of where the name does not say so or says the contrary."""
    sounds_simulated = device.name.startswith("sim")
    if device.simulated != sounds_simulated:
        return f"{device.name} {'sim' if device.simulated else 'real'}"
    return device.name


def _name(device: Device, marked: bool, is_target: bool) -> Span:
    mark = "▪ " if marked else "→ " if is_target else "  "
    return Span(f"{mark}{_name_text(device)}", "accent bold" if marked else "text")


def _value(text: str | None, old: bool) -> Span:
    if text is None or text == fmt.UNKNOWN:
        return Span(fmt.UNKNOWN, "faint")
    return Span(text, "faint" if old else "text")


def _gpu(view: BoardView | None, old: bool) -> Span:
    hz, target_hz = clock_hz(view, "gpu"), view.gpu_target_hz if view is not None else None
    if hz is None:
        return Span(fmt.UNKNOWN, "faint")
    if target_hz is None:
        return _value(mhz(hz), old)
    near = abs(hz - target_hz) <= _TOLERANCE * target_hz
    return Span(f"{mhz(hz)}/{mhz(target_hz)}", "faint" if old else "text" if near else "warn")


def _throttled(throttling: bool | None, counts: int | None, old: bool) -> Span:
    if throttling:
        return Span("now", "faint" if old else "bad")
    if counts is not None:
        return Span(f"{counts}×" if counts else "never", "faint" if old else "text")
    return Span("no", "faint" if old else "text") if throttling is False else Span(fmt.UNKNOWN, "faint")


def _load(load: float | None) -> str | None:
    return None if load is None else f"{load:.1f}" if load < 99.95 else f"{load:.0f}"


def _size(count_bytes: int | None) -> str | None:
    """Return a size in at most seven cells: `9.8 GiB`, `54 GiB`."""
    if count_bytes is None:
        return None
    number, _, unit = fmt.size(count_bytes).partition(" ")
    return f"{number} {unit}" if float(number) < 10 else f"{float(number):.0f} {unit}"
