"""Screen 1: the lab's devices as rows, and everything about the one under the cursor."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual import on

from edgelab.screens.board_history import Histories
from edgelab.screens.board_keys import BoardKeysScreen
from edgelab.screens.board_rows import BoardRows, device_columns
from edgelab.screens.device_card import HISTORY, HostHistory, device_card
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import Line, Span, text_of
from edgelab.widgets.table import Row, RowTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Click

    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device
    from edgelab.screens.board_feed import BoardFeed
    from edgelab.screens.check_summary import Verdict
    from edgelab.screens.device_activity import Activity
    from edgelab.screens.run_feed import RunSnapshot
    from edgelab.widgets.query import Query

SAMPLE_S = 1.0
ACTIVITY_S = 5.0
"""How often the store is asked what ran; a run that ends is told at once."""

PAINT_S = 0.1
"""Shortest time between two paintings of what boards say."""

_READING_ROWS = 10
"""Lines of a wide card beside its plots and its activity."""

_PLOT_ROWS = 28
_LEAST_ACTIVITY_ROWS = 5
_TABLE_SHARE = 0.4
_LEAST_TABLE_ROWS = 4
_FRAME_ROWS = 2
"""The bars at the top and at the bottom."""


class LabScreen(BoardKeysScreen):
    """Rows and the detail of one device. This machine is read once a second, only while the screen is on show."""

    MODE = "lab"

    def __init__(self) -> None:
        super().__init__()
        self._history = HostHistory()
        self._clocks: deque[float | None] = deque(maxlen=HISTORY)
        self._loads: deque[float | None] = deque(maxlen=HISTORY)
        self._activity: Mapping[str, Activity] = {}
        self._watched: RunSnapshot | None = None
        self._sampled = asyncio.Event()
        self._feed: BoardFeed | None = None
        self._histories = Histories()
        self._row_maker = BoardRows()
        self._rows: list[Row] = []
        self._views: Mapping[str, BoardView] = {}
        self._now_s = 0.0
        self._paint_due = False
        self._folded = False
        self._shown_device = ""

    @property
    def history(self) -> HostHistory:
        """What the card of this machine shows."""
        return self._history

    def compose_body(self) -> ComposeResult:
        """Rows, and below them one scrolling view of the device under the cursor."""
        yield RowTable(device_columns(()), id="devices", empty="reading the lab…", steady=True)
        yield LinesView(id="cards")

    def on_mount(self) -> None:
        """Show no rows before the lab is read."""
        self.add_class("-alone")

    def arrive(self) -> None:
        """Read on."""
        self._watched = self.lab_app.snapshot
        self.start(self._sample, "sample")
        self.start(self._read_activity, "activity")
        self.show()

    def depart(self) -> None:
        """Stop reading this machine; the boards are kept in view by a process of their own."""
        self.workers.cancel_group(self, "sample")
        self.workers.cancel_group(self, "activity")

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Show the watched run; one that has just ended has a result to read."""
        before, self._watched = self._watched, snapshot
        if before is not None and before.run_id == snapshot.run_id and before.state != snapshot.state:
            self.start(self._read_activity, "activity")
        self.show()

    async def _sample(self) -> None:
        app = self.lab_app
        # The first paint comes before the first import of psutil and the inventory.
        if not self.devices:
            await self._open_lab()
        while True:
            state = await app.aside(app.sources.sample_host)
            self._clocks.append(state.cpu_freq_hz)
            self._loads.append(state.cpu_percent)
            self._sampled.set()
            if not app.paused or self._history == HostHistory():
                self._history = HostHistory(state, tuple(self._clocks), tuple(self._loads))
                self.show()
            await asyncio.sleep(SAMPLE_S)

    def reload(self) -> None:
        """Read the lab anew, after a device was added to it."""
        self.devices = ()
        self.start(self._sample, "sample")

    async def _open_lab(self) -> None:
        app = self.lab_app
        devices = await app.aside(app.sources.devices)
        if self._feed is not None:
            await self._feed.close()
        alone = len(devices) < 2
        if not alone:
            await app.sources.boards.start()
        # From here on nothing waits: whoever leaves the screen leaves it before the lab is open, or after.
        table = self.query_one(RowTable)
        table.set_columns(device_columns(devices))
        self.devices, self._rows = devices, []
        self.set_class(alone, "-alone")
        if not alone:
            self._size_table()
            self._feed = app.sources.boards
            self._feed.on_change(self._boards_changed)
            table.focus()
        self.show()

    def on_resize(self) -> None:
        """Give the rows their share of another height."""
        self._size_table()

    def _size_table(self) -> None:
        if self.devices:
            most = max(int((self.size.height - _FRAME_ROWS) * _TABLE_SHARE), _LEAST_TABLE_ROWS)
            self.query_one(RowTable).styles.height = min(len(self.devices), most) + 1

    async def _read_activity(self) -> None:
        # The store waits until the device is on show: its import must not hold up the first paint.
        await self._sampled.wait()
        from edgelab.screens.device_activity import read_activity

        app = self.lab_app
        while True:
            found = await app.read(read_activity, app.sources, [device.name for device in self.devices])
            if not app.paused or not self._activity:
                self._activity = found
                self.say("", about="activity")
                self.show()
            await asyncio.sleep(ACTIVITY_S)

    # The boards

    def _boards_changed(self) -> None:
        """Gather what comes, and paint it at most ten times a second."""
        feed = self.boards
        for view in feed.views().values():
            self._histories.take(view)
        self.say(feed.trouble, about="boards")
        if not self._paint_due and self.can_paint:
            self._paint_due = True
            self.set_timer(PAINT_S, self._paint_boards)

    def _paint_boards(self) -> None:
        self._paint_due = False
        if not self.lab_app.paused and self.can_paint:
            self.show()

    # Painting

    @property
    def device(self) -> Device | None:
        """The device under the cursor."""
        key = self.query_one(RowTable).key
        return next((device for device in self.devices if device.name == key), None) or (
            self.devices[0] if self.devices else None
        )

    def show(self) -> None:
        """Show the newest views; a paused view keeps those that it shows."""
        if not self.can_paint or not self.devices:
            return
        if not self.lab_app.paused or not self._views:
            self._views = self.boards.views() if len(self.devices) > 1 else {}
            self._now_s = self.lab_app.sources.now_s()
        if len(self.devices) > 1:
            target = self.lab_app.device or self.devices[0]
            rows = self._row_maker.rows(self.devices, self._views, self.marked, target.name, self._now_s)
            if rows != self._rows:
                self._rows = rows
                self.query_one(RowTable).set_rows(rows)
        self._show_detail()

    @on(RowTable.Highlighted)
    def _moved(self, event: RowTable.Highlighted) -> None:
        """Another device: its detail has the room that the verdicts took."""
        if self._shown_device and event.key != self._shown_device:
            self._folded = True
        self._show_detail()

    @on(LinesView.Resized)
    def _show_detail(self) -> None:
        device = self.device if self.can_paint else None
        if device is None:
            return
        view = self.query_one("#cards", LinesView)
        cells, height = view.cells - 1, view.content_size.height
        lines: list[Line] = [[], *self._summary(cells)]
        lines += self._card(device, cells, height - len(lines) - 1)
        lines.append([Span("Data in ", "faint"), Span(self.lab_app.sources.home_name, "faint")])
        same = device.name == self._shown_device
        self._shown_device = device.name
        view.set_lines([[Span(" "), *line] for line in lines], keep_scroll=same)

    def _verdicts(self) -> list[Verdict]:
        from edgelab.screens.check_summary import verdicts

        return verdicts(self.asked, self._views)

    def _summary(self, cells: int) -> list[Line]:
        if not self.asked:
            return []
        from edgelab.screens.check_summary import summary_lines

        return [*summary_lines(self._verdicts(), cells, folded=self._folded), []]

    def _card(self, device: Device, cells: int, rows: int) -> list[Line]:
        """Return the detail of a device, and what ran on it in what is left."""
        own = not device.host and not device.simulated
        lines = self._own_card(device, cells, rows) if own else self._board_card(device, cells)
        activity = self._activity.get(device.name)
        if activity is None:
            return lines
        from edgelab.screens.device_activity import activity_lines

        left = max(rows - len(lines) - 1, _LEAST_ACTIVITY_ROWS)
        return [*lines, [], *activity_lines(activity, self._watched_on(device), self._now_s, cells, left)]

    def _board_card(self, device: Device, cells: int) -> list[Line]:
        from edgelab.screens.board_detail import board_lines

        view = self._views.get(device.name)
        return board_lines(device, view, self._histories.of(device.name), self._now_s, cells)

    def _own_card(self, device: Device, cells: int, rows: int) -> list[Line]:
        """Return the card of this machine: readings, its last check, plots where there is room."""
        from edgelab.screens.board_detail import done_lines

        activity, view = self._activity.get(device.name), self._views.get(device.name)
        done = done_lines(view, self._now_s, cells, always=False) if view is not None else []
        done = [[], *done] if done else []
        rows -= len(done)
        plot_rows, sample = _PLOT_ROWS, None
        if activity is not None:
            from edgelab.screens.device_activity import wanted_rows

            sample = activity.sample
            plot_rows = rows - _READING_ROWS - wanted_rows(activity, self._watched_on(device))
        plot_rows = min(max(plot_rows, (rows - _READING_ROWS) // 2), _PLOT_ROWS)
        card = device_card(device, self._history, self._now_s, cells, plot_rows=plot_rows, sample=sample)
        return [*card, *done]

    def _watched_on(self, device: Device) -> RunSnapshot | None:
        watched = self._watched
        if watched is None or watched.record is None or watched.record.device != device.name:
            return None
        return watched

    # Moving about

    def apply_filter(self, query: Query) -> None:
        """Filter the rows while typing."""
        self.query_one(RowTable).filter(query)

    @on(RowTable.Chosen)
    def action_read(self) -> None:
        """Give the keyboard, and where room is short the screen, to the detail."""
        self.add_class("-reading")
        self.query_one("#cards", LinesView).focus()

    def on_descendant_focus(self) -> None:
        """The rows are back on show as soon as they have the keyboard."""
        if isinstance(self.focused, RowTable):
            self.remove_class("-reading")

    def on_click(self, event: Click) -> None:
        """A click into the detail reads it."""
        if isinstance(event.widget, LinesView) and len(self.devices) > 1:
            self.add_class("-reading")

    def action_back(self) -> None:
        """Leave the detail, then the verdicts, then the filter, else go to the screen before."""
        if self.has_class("-reading"):
            self.remove_class("-reading")
            self.query_one(RowTable).focus()
        elif self.asked:
            self.asked = {}
            self._show_detail()
        else:
            super().action_back()

    def check_asked(self) -> None:
        """Show the verdicts of a check of several devices as they come."""
        self._folded = False
        self.query_one("#cards", LinesView).scroll_to(0, 0, animate=False)

    def action_verdicts(self) -> None:
        """Show or fold the verdicts of the last check of several devices."""
        if self.asked:
            self._folded = not self._folded
            self._show_detail()
        else:
            self.notify("x or a marks devices, c checks them: then there are verdicts.", timeout=4)

    def action_mark(self) -> None:
        """Mark the device under the cursor, or take the mark away, and go on to the next."""
        super().action_mark()
        self.query_one(RowTable).action_move(1)

    def copied_text(self) -> str:
        """Return the verdicts while they are on show, else the detail."""
        if self.asked and not self._folded:
            from edgelab.screens.check_summary import summary_text

            return summary_text(self._verdicts())
        return text_of(self.query_one("#cards", LinesView).lines)
