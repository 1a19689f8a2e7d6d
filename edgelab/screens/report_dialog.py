"""The report over the results, or two of them side by side, over the Results screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from edgelab.screens.report_lines import comparison_lines, report_lines
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import Line, Span, text_of

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.bench.report.view import ReportView

_WHOLE = "edgelab report --format html --output FILE writes it as a page with charts; y copies; esc closes."


class ReportDialog(ModalScreen[None]):
    """One box that scrolls both ways."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v,c", "close", "Close", show=False),
        Binding("y", "copy", "Copy", show=False),
    ]

    def __init__(self, view: ReportView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        """The text."""
        with Vertical(classes="dialog whole"):
            yield LinesView(id="report-text")

    @on(LinesView.Resized)
    def _fill(self) -> None:
        view = self.query_one(LinesView)
        view.set_lines([*self._lines(view.cells), [Span(_WHOLE, "faint")]])

    def _lines(self, cells: int) -> list[Line]:
        if self._view.comparison is not None:
            return comparison_lines(self._view.comparison, cells)
        return report_lines(self._view, cells)

    def action_copy(self) -> None:
        """Copy it as text."""
        self.app.copy_to_clipboard(text_of(self._lines(200)))
        self.notify("Copied the report.", timeout=2)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)
