"""Screen 1: the lab's devices, the state of this machine, and what runs or ran on them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from textual import on

from edgelab.screens.base import EdgeScreen
from edgelab.screens.device_card import HISTORY, HostHistory, device_card
from edgelab.widgets.bars import Hint
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import Line, Span, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from edgelab.lab.inventory import Device
    from edgelab.screens.device_activity import Activity
    from edgelab.screens.run_feed import RunSnapshot

SAMPLE_S = 1.0
ACTIVITY_S = 5.0
"""How often the store is asked what ran; a run that ends is told at once."""

_READING_ROWS = 10
"""Lines of a wide card beside its plots and its activity."""

_PLOT_ROWS = 28
_LEAST_ACTIVITY_ROWS = 5


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
        self._activity: Mapping[str, Activity] = {}
        self._watched: RunSnapshot | None = None
        self._sampled = asyncio.Event()

    @property
    def history(self) -> HostHistory:
        """What the cards show."""
        return self._history

    def compose_body(self) -> ComposeResult:
        """One scrolling view of cards."""
        yield LinesView(id="cards")

    def arrive(self) -> None:
        """Read on."""
        self._watched = self.lab_app.snapshot
        self.start(self._sample, "sample")
        self.start(self._read_activity, "activity")

    def depart(self) -> None:
        """Stop reading."""
        self.workers.cancel_group(self, "sample")
        self.workers.cancel_group(self, "activity")

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Show the watched run; one that has just ended has a result to read."""
        before, self._watched = self._watched, snapshot
        if before is not None and before.run_id == snapshot.run_id and before.state != snapshot.state:
            self.start(self._read_activity, "activity")
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
            self._sampled.set()
            if not app.paused or self._history == HostHistory():
                self._history = HostHistory(state, tuple(self._clocks), tuple(self._loads))
                self._show()
            await asyncio.sleep(SAMPLE_S)

    async def _read_activity(self) -> None:
        # The store waits until the device is on show: its import must not hold up the first paint.
        await self._sampled.wait()
        from edgelab.screens.device_activity import read_activity

        app = self.lab_app
        while True:
            found = await app.read(read_activity, app.sources, [device.name for device in self._devices])
            if not app.paused or not self._activity:
                self._activity = found
                self.say("", about="activity")
                self._show()
            await asyncio.sleep(ACTIVITY_S)

    @on(LinesView.Resized)
    def _show(self) -> None:
        if not self.is_mounted or not self._devices:
            return
        view = self.query_one("#cards", LinesView)
        lines: list[Line] = [[]]
        rows = (view.content_size.height - 2) // len(self._devices)
        for device in self._devices:
            lines += [[Span(" "), *line] for line in self._card(device, view.cells - 1, rows)]
            lines += [[]] if device is not self._devices[-1] else []
        lines.append([Span(" Data in ", "faint"), Span(self.lab_app.sources.home_name, "faint")])
        view.set_lines(lines, keep_scroll=True)

    def _card(self, device: Device, cells: int, rows: int) -> list[Line]:
        """Return the card of a device: readings, plots where there is room, activity in what is left."""
        history = self._history if not device.host else HostHistory()
        activity, now_s = self._activity.get(device.name), self.lab_app.sources.now_s()
        plot_rows, sample, watched = _PLOT_ROWS, None, self._watched
        if watched is not None and (watched.record is None or watched.record.device != device.name):
            watched = None
        if activity is not None:
            from edgelab.screens.device_activity import wanted_rows

            sample = activity.sample
            plot_rows = rows - _READING_ROWS - wanted_rows(activity, watched)
        plot_rows = min(max(plot_rows, (rows - _READING_ROWS) // 2), _PLOT_ROWS)
        lines = device_card(device, history, now_s, cells, plot_rows=plot_rows, sample=sample)
        if activity is None:
            return lines
        from edgelab.screens.device_activity import activity_lines

        left = max(rows - len(lines) - 1, _LEAST_ACTIVITY_ROWS)
        return [*lines, [], *activity_lines(activity, watched, now_s, cells, left)]

    def copied_text(self) -> str:
        """Return the cards as text."""
        return text_of(self.query_one("#cards", LinesView).lines)
