"""Screen 1: the lab's devices and the state of this machine."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, ClassVar

import msgspec

from edgelab import quantities as fmt
from edgelab.screens.base import EdgeScreen
from edgelab.widgets.bars import Hint
from edgelab.widgets.lines import LinesView
from edgelab.widgets.marks import bar, spark
from edgelab.widgets.plot import Curve, Plot, plot_lines
from edgelab.widgets.spans import Line, Span, beside, fit, rule, spread, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from edgelab.lab.host import HostState
    from edgelab.lab.inventory import Device

SAMPLE_S = 1.0
HISTORY = 120
_STALE_S = 5.0


class HostHistory(msgspec.Struct, frozen=True):
    """The newest state and two minutes of clock and processor load; None where unknown."""

    state: HostState | None = None
    clock_hz: tuple[float | None, ...] = ()
    cpu_percent: tuple[float | None, ...] = ()


def device_card(
    device: Device, history: HostHistory, now_s: float, cells: int, *, plot_rows: int = 0
) -> list[Line]:
    """Return one device as lines of `cells`: name, readings with bars, history, the age of the values.

    The history is two sparklines, or two plots of `plot_rows` lines where there is that much room.
    """
    state = history.state
    note = device.backend
    lines = [rule(device.name, cells, note)]
    title: Line = [Span("● ", "accent"), Span(device.title or device.profile, "text bold")]
    if device.simulated:
        title.append(Span("  simulated: kernels run on this machine's processor", "warn"))
    if state is None:
        return [*lines, spread(title, [], cells), [Span("  reading…", "muted")]]
    lines.append(spread(title, [_age(now_s - state.sampled_s)], cells))
    cores = "" if state.cores is None else f", {state.cores} cores"
    lines += [
        _reading("model", [Span((state.cpu_model or fmt.with_word(fmt.UNKNOWN)) + cores, "text")], cells),
        [],
    ]
    half = cells >= 110
    wide = (cells - 4) // 2 if half else cells
    sparks = not (half and plot_rows >= 5)
    left, right = _processor(state, history, wide, sparks), _memory(state, wide)
    if not half:
        return [*lines, *left, [], *right]
    lines += beside(left, right, wide, 4)
    if sparks:
        return lines
    clock, load = _plots(history)
    return [
        *lines,
        [],
        *beside(plot_lines(clock, wide, plot_rows), plot_lines(load, wide, plot_rows), wide, 4),
    ]


def _plots(history: HostHistory) -> tuple[Plot, Plot]:
    clocks = [value for value in history.clock_hz if value is not None]
    top_hz = history.state.cpu_freq_max_hz if history.state else None
    clock = Plot(
        "Clock",
        (Curve(_aged(history.clock_hz), "accent"),),
        fmt.frequency,
        note="last two minutes",
        empty="the clock cannot be read here",
        limits=(0.0, top_hz or max(clocks, default=1.0)),
    )
    load = Plot(
        "Processor",
        (Curve(_aged(history.cpu_percent), "baseline"),),
        fmt.percent,
        note="last two minutes",
        limits=(0.0, 100.0),
    )
    return clock, load


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
    known = [value for value in history.clock_hz if value is not None]
    # Without a known maximum the highest clock seen is the scale, and the line says so by its label.
    scale_hz = top_hz or max(known, default=1.0)
    room = min(max(cells - 16, 8), 60)
    load = fmt.plain(state.load_1min)
    lines = [
        _reading("clock", [Span(clock, "text"), Span(of, "muted"), Span(source, "faint")], cells),
        _reading("governor", [Span(state.governor or fmt.with_word(fmt.UNKNOWN), "text")], cells),
        _reading("temperature", [Span(fmt.with_word(fmt.temperature(state.temperature_c)), "text")], cells),
        _reading("load", [Span(load, "text"), Span(" over 1 min, ", "muted"), *_busy(state)], cells),
    ]
    if sparks:
        lines.insert(1, _reading("", [Span(spark(history.clock_hz, room, 0.0, scale_hz), "accent")], cells))
        lines.append(_reading("", [Span(spark(history.cpu_percent, room, 0.0, 100.0), "baseline")], cells))
    return lines


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


class LabScreen(EdgeScreen):
    """One card a device. This machine is read once a second, only while the screen is on show."""

    MODE = "lab"
    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("2", "choose a task", "app.go('tasks')"),
        Hint("space", "pause", "app.pause"),
        Hint("y", "copy", "screen.copy"),
        Hint("t", "light/dark", "app.turn_theme"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._devices: Sequence[Device] = ()
        self._history = HostHistory()
        self._clocks: deque[float | None] = deque(maxlen=HISTORY)
        self._loads: deque[float | None] = deque(maxlen=HISTORY)

    @property
    def history(self) -> HostHistory:
        """What the cards show."""
        return self._history

    def compose_body(self) -> ComposeResult:
        """One scrolling view of cards."""
        yield LinesView(id="cards")

    def arrive(self) -> None:
        """Read on."""
        self.start(self._sample, "sample")

    def depart(self) -> None:
        """Stop reading."""
        self.workers.cancel_group(self, "sample")

    def on_resize(self) -> None:
        """Lay the cards out anew."""
        self._show()

    async def _sample(self) -> None:
        app = self.lab_app
        # The first paint comes before the first import of psutil and the inventory.
        if not self._devices:
            self._devices = await app.aside(app.sources.devices)
            self._show()
        while True:
            state = await app.aside(app.sources.sample_host)
            self._clocks.append(state.cpu_freq_hz)
            self._loads.append(state.cpu_percent)
            if not app.paused:
                self._history = HostHistory(state, tuple(self._clocks), tuple(self._loads))
                self._show()
            await asyncio.sleep(SAMPLE_S)

    def _show(self) -> None:
        if not self.is_mounted or not self._devices:
            return
        view = self.query_one("#cards", LinesView)
        cells = max(view.content_size.width - 2, 20)
        # What the readings leave of the height goes to the plots, shared by the devices.
        room = min(view.content_size.height // len(self._devices) - 14, 16)
        lines: list[Line] = [[]]
        for device in self._devices:
            history = self._history if not device.host else HostHistory()
            card = device_card(device, history, self.lab_app.sources.now_s(), cells, plot_rows=room)
            lines += [[Span(" "), *line] for line in card]
            lines.append([])
        lines.append([Span(" Data in ", "faint"), Span(self.lab_app.sources.home_name, "faint")])
        view.set_lines(lines, keep_scroll=True)

    def copied_text(self) -> str:
        """Return the cards as text."""
        return text_of(self.query_one("#cards", LinesView).lines)
