"""Screen 1: the lab's devices as rows, and everything about the one under the cursor."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType

from edgelab.screens.base import EdgeScreen
from edgelab.screens.board_history import Histories
from edgelab.screens.board_rows import COLUMNS, board_rows
from edgelab.screens.device_card import HISTORY, HostHistory, device_card
from edgelab.widgets.bars import Hint
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import Line, Span, text_of
from edgelab.widgets.table import Row, RowTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from edgelab.lab.device import Device
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
_MOST_TABLE_ROWS = 13


class LabScreen(EdgeScreen):
    """Rows and the detail of one device. This machine is read once a second, only while the screen is on show."""

    MODE = "lab"
    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("c", "check", "screen.check"),
        Hint("L", "lock", "screen.lock"),
        Hint("R", "restore", "screen.restore"),
        Hint("x", "mark", "screen.mark"),
        Hint("2", "choose a task", "app.go('tasks')"),
        Hint("space", "pause", "app.pause"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "check", "Check", show=False),
        Binding("L", "lock", "Lock clocks", show=False),
        Binding("R", "restore", "Restore clocks", show=False),
        Binding("x", "mark", "Mark", show=False),
        Binding("a", "mark_all", "Mark all", show=False),
        Binding("u", "trust", "Trust its key", show=False),
        Binding("p", "password", "Give the sudo password", show=False),
        Binding("n", "reconnect", "Connect anew", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._devices: Sequence[Device] = ()
        self._history = HostHistory()
        self._clocks: deque[float | None] = deque(maxlen=HISTORY)
        self._loads: deque[float | None] = deque(maxlen=HISTORY)
        self._activity: Mapping[str, Activity] = {}
        self._watched: RunSnapshot | None = None
        self._sampled = asyncio.Event()
        self._histories = Histories()
        self._marked: frozenset[str] = frozenset()
        self._paint_due = False
        self._rows: list[Row] = []

    @property
    def history(self) -> HostHistory:
        """What the card of this machine shows."""
        return self._history

    def compose_body(self) -> ComposeResult:
        """Rows, and below them one scrolling view of the device under the cursor."""
        yield RowTable(COLUMNS, id="devices", empty="reading the lab…")
        yield LinesView(id="cards")

    def on_mount(self) -> None:
        """A lab of one device needs no table to choose from."""
        self.query_one(RowTable).display = False

    def arrive(self) -> None:
        """Read on."""
        self._watched = self.lab_app.snapshot
        self.start(self._sample, "sample")
        self.start(self._read_activity, "activity")

    def depart(self) -> None:
        """Stop reading this machine; the boards are kept in view by a process of their own."""
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
            await self._open_lab()
        while True:
            state = await app.aside(app.sources.sample_host)
            self._clocks.append(state.cpu_freq_hz)
            self._loads.append(state.cpu_percent)
            self._sampled.set()
            if not app.paused or self._history == HostHistory():
                self._history = HostHistory(state, tuple(self._clocks), tuple(self._loads))
                self._show()
            await asyncio.sleep(SAMPLE_S)

    async def _open_lab(self) -> None:
        app = self.lab_app
        self._devices = await app.aside(app.sources.devices)
        table = self.query_one(RowTable)
        table.display = len(self._devices) > 1
        if table.display:
            table.styles.height = min(len(self._devices), _MOST_TABLE_ROWS) + 1
            boards = app.sources.boards
            boards.on_change(self._boards_changed)
            await boards.start()
            table.focus()
        self._show()

    def _boards_changed(self) -> None:
        """Gather what comes, and paint it at most ten times a second."""
        boards = self.lab_app.sources.boards
        for view in boards.views().values():
            self._histories.take(view)
        self.say(boards.trouble, about="boards")
        if not self._paint_due and self.can_paint:
            self._paint_due = True
            self.set_timer(PAINT_S, self._paint_boards)

    def _paint_boards(self) -> None:
        self._paint_due = False
        if not self.lab_app.paused and self.can_paint:
            self._show()

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

    # Painting

    @property
    def _device(self) -> Device | None:
        """The device under the cursor."""
        key = self.query_one(RowTable).key
        return next((device for device in self._devices if device.name == key), None) or (
            self._devices[0] if self._devices else None
        )

    def _show(self) -> None:
        if not self.is_mounted or not self._devices:
            return
        if len(self._devices) > 1:
            now_s = self.lab_app.sources.now_s()
            views = self.lab_app.sources.boards.views()
            rows = board_rows(self._devices, views, self._marked, now_s)
            if rows != self._rows:
                self._rows = rows
                self.query_one(RowTable).set_rows(rows)
        self._show_detail()

    @on(RowTable.Highlighted)
    @on(LinesView.Resized)
    def _show_detail(self) -> None:
        device = self._device if self.is_mounted else None
        if device is None:
            return
        view = self.query_one("#cards", LinesView)
        lines: list[Line] = [[]]
        lines += [
            [Span(" "), *line] for line in self._card(device, view.cells - 1, view.content_size.height - 2)
        ]
        lines.append([Span(" Data in ", "faint"), Span(self.lab_app.sources.home_name, "faint")])
        view.set_lines(lines, keep_scroll=True)

    def _card(self, device: Device, cells: int, rows: int) -> list[Line]:
        """Return the detail of a device, and what ran on it in what is left."""
        lines = (
            self._own_card(device, cells, rows) if self._is_own(device) else self._board_card(device, cells)
        )
        activity, now_s = self._activity.get(device.name), self.lab_app.sources.now_s()
        if activity is None:
            return lines
        from edgelab.screens.device_activity import activity_lines

        left = max(rows - len(lines) - 1, _LEAST_ACTIVITY_ROWS)
        return [*lines, [], *activity_lines(activity, self._watched_on(device), now_s, cells, left)]

    @staticmethod
    def _is_own(device: Device) -> bool:
        return not device.host and not device.simulated

    def _board_card(self, device: Device, cells: int) -> list[Line]:
        from edgelab.screens.board_detail import board_lines

        sources = self.lab_app.sources
        view = sources.boards.views().get(device.name)
        return board_lines(device, view, self._histories.of(device.name), sources.now_s(), cells)

    def _own_card(self, device: Device, cells: int, rows: int) -> list[Line]:
        """Return the card of this machine: readings, plots where there is room."""
        activity, now_s = self._activity.get(device.name), self.lab_app.sources.now_s()
        plot_rows, sample = _PLOT_ROWS, None
        if activity is not None:
            from edgelab.screens.device_activity import wanted_rows

            sample = activity.sample
            plot_rows = rows - _READING_ROWS - wanted_rows(activity, self._watched_on(device))
        plot_rows = min(max(plot_rows, (rows - _READING_ROWS) // 2), _PLOT_ROWS)
        return device_card(device, self._history, now_s, cells, plot_rows=plot_rows, sample=sample)

    def _watched_on(self, device: Device) -> RunSnapshot | None:
        watched = self._watched
        if watched is None or watched.record is None or watched.record.device != device.name:
            return None
        return watched

    # Actions

    def apply_filter(self, query: Query) -> None:
        """Filter the rows while typing."""
        self.query_one(RowTable).filter(query)

    @on(RowTable.Chosen)
    def _chosen(self) -> None:
        """Enter reads the detail; tab comes back to the rows."""
        self.query_one("#cards", LinesView).focus()

    def _targets(self) -> tuple[str, ...]:
        """Return the devices that a key acts on: the marked ones, else the one under the cursor."""
        device = self._device
        names = tuple(found.name for found in self._devices if found.name in self._marked)
        return names or ((device.name,) if device is not None else ())

    def _ask(self, action: Literal["check", "lock", "restore", "reconnect", "trust_key"]) -> None:
        if len(self._devices) < 2:
            self.notify("This lab has no board. Name some: edgelab devices add", timeout=4)
            return
        for name in self._targets():
            self.lab_app.sources.boards.request(name, action)

    def action_check(self) -> None:
        """Check the chosen devices, all at once."""
        self._ask("check")

    def action_restore(self) -> None:
        """Put back what the chosen devices had."""
        self._ask("restore")

    def action_reconnect(self) -> None:
        """Connect anew."""
        self._ask("reconnect")

    def action_lock(self) -> None:
        """Lock the clocks of the chosen devices, after a question."""
        from edgelab.screens.dialogs import ConfirmDialog

        names = ", ".join(self._targets())
        said = f"Set power mode and clocks of {names}?"
        question = f"{said} What is there now is stored on the device first, and R puts it back."

        def answered(yes: bool | None) -> None:
            if yes:
                self._ask("lock")

        self.app.push_screen(ConfirmDialog(question, "lock", "leave them"), answered)

    def action_mark(self) -> None:
        """Mark the device under the cursor, or take the mark away, and go on to the next."""
        device = self._device
        if device is not None:
            self._marked ^= {device.name}
            self.query_one(RowTable).action_move(1)
            self._show()

    def action_mark_all(self) -> None:
        """Mark all devices; once more, none."""
        every = frozenset(device.name for device in self._devices)
        self._marked = frozenset() if self._marked == every else every
        self._show()

    def action_trust(self) -> None:
        """Accept the host key of the device under the cursor, after showing what it is."""
        from edgelab.screens.dialogs import ConfirmDialog

        device = self._device
        view = self.lab_app.sources.boards.views().get(device.name) if device is not None else None
        if device is None or view is None or view.link != "failed" or "never seen" not in view.problem:
            self.notify("There is no unknown host key to trust here.", timeout=3)
            return
        name = device.name

        def answered(yes: bool | None) -> None:
            if yes:
                self.lab_app.sources.boards.request(name, "trust_key")

        question = f"{view.problem} Compare it with what the board shows. Trust it from now on?"
        self.app.push_screen(ConfirmDialog(question, "trust it", "do not"), answered)

    def action_password(self) -> None:
        """Give the sudo password of the device under the cursor."""
        from edgelab.screens.password_dialog import PasswordDialog

        device = self._device
        if device is None or device.sudo != "password":
            self.notify("This device needs no sudo password (lab.toml: sudo).", timeout=3)
            return
        name = device.name

        def given(secret: str | None) -> None:
            if secret:
                self.lab_app.sources.boards.password(name, secret)

        self.app.push_screen(PasswordDialog(name), given)

    def commands(self) -> Iterable[SystemCommand]:
        """Return the commands of this screen."""
        yield SystemCommand("Check devices", "Key c; the marked ones, all at once", self.action_check)
        yield SystemCommand("Lock clocks", "Key L; asks first", self.action_lock)
        yield SystemCommand(
            "Restore clocks", "Key R; what was before EdgeLab's first change", self.action_restore
        )
        yield SystemCommand("Mark all devices", "Key a", self.action_mark_all)
        yield SystemCommand("Connect anew", "Key n", self.action_reconnect)

    def copied_text(self) -> str:
        """Return the detail as text."""
        return text_of(self.query_one("#cards", LinesView).lines)
