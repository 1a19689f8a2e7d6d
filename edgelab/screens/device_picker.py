"""The choice of the device that runs go to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from edgelab.screens.board_words import state_span, verdict_span
from edgelab.widgets.spans import Span
from edgelab.widgets.table import Column, Row, RowTable

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.app import EdgeLabApp
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device

_COLUMNS = (
    Column("Device", 16, priority=0),
    Column("State", 12, priority=1),
    Column("Check", 11, priority=3),
    Column("Backend", 8, priority=2),
    Column("What it is", 20, priority=2, grow=True),
)

_MOST_ROWS = 15


class DevicePicker(ModalScreen[str | None]):
    """The devices of the lab; Enter chooses one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,d", "close", "Close", show=False)]

    def __init__(self, devices: Sequence[Device], chosen: str) -> None:
        super().__init__()
        self._devices, self._chosen_name = tuple(devices), chosen

    def compose(self) -> ComposeResult:
        """One box with a table."""
        with Vertical(classes="dialog wide"):
            yield RowTable(_COLUMNS, id="runs", empty="This lab has no device.")

    def on_mount(self) -> None:
        """Show the devices."""
        views = cast("EdgeLabApp", self.app).sources.boards.views()
        table = self.query_one(RowTable)
        table.styles.height = min(len(self._devices), _MOST_ROWS) + 1
        table.set_rows([_row(device, views.get(device.name)) for device in self._devices])
        table.select(self._chosen_name)

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.dismiss(event.key)

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)


def _row(device: Device, view: BoardView | None) -> Row:
    state = state_span(view) if view is not None else Span("", "faint")
    check = verdict_span(view.check if view is not None else None)
    kind = f"simulated {device.title}" if device.simulated else device.title or device.profile
    cells = (
        Span(device.name, "text"),
        state,
        check,
        Span(device.backend, "muted"),
        Span(kind, "warn" if device.simulated else "muted"),
    )
    order = (device.name, state.text, check.text, device.backend, kind)
    return Row(device.name, cells, order, f"{device.name} {kind}")
