"""Everything that is known of one board: what is wrong with it, its readings, its checks, what is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.screens.board_readings import reading_lines
from edgelab.screens.board_reports import activity_report_lines, check_lines
from edgelab.screens.board_words import advice, is_old, need_of, need_words, state_span
from edgelab.widgets.spans import Line, Span, beside, rule, spread, wrap

if TYPE_CHECKING:
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device
    from edgelab.screens.board_history import BoardHistory

WIDE_CELLS = 110
_GAP = 4
_LEFT_ALONE = "It is in use: nothing else reads it meanwhile, and the values are those from before."
_NEEDS = {"trust": ("u", "trusts this key", "screen.trust"), "password": ("p", "gives it", "screen.password")}


def board_lines(
    device: Device, view: BoardView | None, history: BoardHistory, now_s: float, cells: int
) -> list[Line]:
    """Return the detail of a board as lines of `cells`; two columns where there is room."""
    lines = _heading(device, view, now_s, cells)
    if view is None:
        return [*lines, [Span("  The device monitor has not told of it yet.", "muted")]]
    lines += _trouble_lines(device, view, cells)
    half = (cells - _GAP) // 2 if cells >= WIDE_CELLS else cells
    readings = reading_lines(view, history, now_s, half)
    done = done_lines(view, now_s, half, always=True)
    if cells >= WIDE_CELLS:
        return [*lines, *beside(readings, done, half, _GAP)]
    # What is wrong comes before what is read where not both are in sight.
    return [*lines, *done, [], *readings]


def done_lines(view: BoardView, now_s: float, cells: int, *, always: bool) -> list[Line]:
    """Return the last check and what was done; what goes on now comes first. Nothing at all unless `always`."""
    parts: list[list[Line]] = []
    if always or view.check is not None or view.activity:
        parts.append(check_lines(view, now_s, cells))
    if reported := activity_report_lines(view, cells):
        parts.append(reported)
    if view.activity:
        parts.reverse()
    lines: list[Line] = []
    for part in parts:
        lines += [[], *part] if lines else part
    return lines


def _heading(device: Device, view: BoardView | None, now_s: float, cells: int) -> list[Line]:
    place = "simulated: kernels run on this machine's processor" if device.simulated else _address(device)
    title: Line = [state_span(view), Span("  "), Span(device.title or device.profile, "text bold")]
    title.append(Span(f"  {place}", "warn" if device.simulated else "muted"))
    right: Line = []
    if view is not None and view.state is not None:
        age_s = now_s - view.state.read_s
        old = is_old(view, now_s)
        right = [Span(f"  {'stale, ' if old else ''}read {fmt.age(age_s)}", "warn" if old else "faint")]
    lines = [rule(device.name, cells, device.backend), spread(title, right, cells)]
    if device.notes:
        lines += [[Span(line, "muted")] for line in wrap(device.notes, cells)]
    return lines


def _address(device: Device) -> str:
    user = f"{device.user}@" if device.user else ""
    port = f":{device.port}" if device.port is not None else ""
    return f"{user}{device.host}{port}"


def _trouble_lines(device: Device, view: BoardView, cells: int) -> list[Line]:
    need = need_of(device, view)
    lines: list[Line] = []
    for text, style in ((view.problem, "bad"), (advice(view), "muted"), (need_words(need), "warn")):
        if text:
            mark = "✗ " if style == "bad" else "  "
            for index, line in enumerate(wrap(text, cells - 4)):
                lines.append([Span(f"  {mark if index == 0 else '  '}{line}", style)])
    if view.link == "up" and not view.polled:
        lines += [[Span(f"    {line}", "muted")] for line in wrap(_LEFT_ALONE, cells - 4)]
    if need:
        key, said, action = _NEEDS[need]
        lines.append([Span(f"    {key}", "accent bold", action), Span(f" {said}", "accent", action)])
    elif view.link == "failed":
        lines.append([Span("    r", "accent bold", "screen.reconnect"), Span(" connects anew", "accent")])
    return [*lines, []] if lines else []
