"""Asks for the sudo password of a device; what is typed is masked and goes to the device alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.spans import Line, Span, rule, wrap

if TYPE_CHECKING:
    from textual.app import ComposeResult


class PasswordDialog(ModalScreen[str | None]):
    """One masked line. Escape closes without a password."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close", show=False)]

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def compose(self) -> ComposeResult:
        """One box: what it is for, and the line."""
        with Vertical(classes="dialog"):
            yield _Purpose(self._device)
            yield Input(password=True, id="password")

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        self.dismiss(event.value or None)

    def action_close(self) -> None:
        """Close without a password."""
        self.dismiss(None)


class _Purpose(LinesPanel):
    def __init__(self, device: str) -> None:
        super().__init__(id="password-about")
        self._device = device

    def lines(self, cells: int, rows: int) -> list[Line]:
        said = "It goes to sudo's standard input on the device and is kept nowhere. Enter gives it, esc does not."
        return [
            rule(f"sudo password of {self._device}", cells),
            *([Span(line, "muted")] for line in wrap(said, cells)),
        ]
