"""Screen 5: what was measured, and what failed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Container

from edgelab.screens.base import EdgeScreen
from edgelab.screens.result_rows import COLUMNS, Outcome, outcome_lines, outcome_rows, outcomes
from edgelab.widgets.bars import Hint
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import RowTable

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.widgets.query import Query

LIMIT = 2000
"""Newest measurements and runs shown."""

_REFRESH_S = 5.0


class ResultsScreen(EdgeScreen):
    """Table and detail. Enter opens the run in the Runner."""

    MODE = "results"
    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("enter", "open run", "screen.open"),
        Hint("v", "report", "screen.report"),
        Hint("x", "mark", "screen.mark"),
        Hint("c", "compare", "screen.compare"),
        Hint("r", "run again", "screen.again"),
        Hint("/", "filter", "screen.filter"),
        Hint("s", "sort", "screen.sort"),
        Hint("S", "turn", "screen.turn"),
        Hint("y", "copy", "screen.copy"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "again", "Run again", show=False),
        Binding("v", "report", "Report", show=False),
        Binding("x", "mark", "Mark", show=False),
        Binding("c", "compare", "Compare", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, Outcome] = {}
        self._read = False
        self._marked: list[str] = []

    def compose_body(self) -> ComposeResult:
        """The table above its detail."""
        with Container(id="stack"):
            yield RowTable(COLUMNS, id="results", empty="reading the results…")
            yield LinesView(id="detail")

    def arrive(self) -> None:
        """Read the results, and again every few seconds while on show."""
        self.start(self._load, "load")

    def depart(self) -> None:
        """Stop reading."""
        self.workers.cancel_group(self, "load")

    async def _load(self) -> None:
        app = self.lab_app
        while True:
            measured = await app.read(app.sources.store.measurements, LIMIT)
            runs = await app.read(app.sources.store.runs, LIMIT)
            if not app.paused or not self._read:
                self._read = True
                self._found = {outcome.run: outcome for outcome in outcomes(measured, runs)}
                table = self.query_one(RowTable)
                table.empty = "No measurement yet: 2 shows the tasks, Enter runs one."
                self._show_rows()
                self.say("", about="load")
            await asyncio.sleep(_REFRESH_S)

    def _show_rows(self) -> None:
        rows = outcome_rows(list(self._found.values()), self.lab_app.sources.now_s(), self._marked)
        self.query_one(RowTable).set_rows(rows)

    @on(RowTable.Highlighted)
    def _highlighted(self, event: RowTable.Highlighted) -> None:
        self._show_detail(event.key)

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.lab_app.watch_run(event.key)

    @on(LinesView.Resized)
    def _resized(self) -> None:
        self._show_detail(self.query_one(RowTable).key)

    def _show_detail(self, key: str | None) -> None:
        view = self.query_one("#detail", LinesView)
        outcome = self._found.get(key or "")
        view.set_lines(outcome_lines(outcome, view.cells) if outcome is not None else [])

    def apply_filter(self, query: Query) -> None:
        """Filter while typing."""
        self.query_one(RowTable).filter(query)

    def action_open(self) -> None:
        """Open the run under the cursor."""
        self.query_one(RowTable).action_choose()

    def action_sort(self) -> None:
        """Sort by the next column (for the mouse)."""
        self.query_one(RowTable).action_sort_next()

    def action_turn(self) -> None:
        """Turn the order round (for the mouse)."""
        self.query_one(RowTable).action_sort_turn()

    def action_again(self) -> None:
        """Run the task and the candidate of this row again."""
        outcome = self._found.get(self.query_one(RowTable).key or "")
        if outcome is not None:
            self.start(lambda: self.lab_app.run_again(outcome.run), "launch")

    def action_report(self) -> None:
        """Show the metrics over the results that the filter lets through."""
        shown = self.query_one(RowTable).keys
        runs = () if len(shown) == len(self._found) else tuple(shown)
        self.start(lambda: self._report(runs), "report")

    async def _report(self, runs: Sequence[str]) -> None:
        from edgelab.screens.report_dialog import ReportDialog

        app = self.lab_app
        app.push_screen(ReportDialog(await app.read(app.sources.report, runs)))

    def action_mark(self) -> None:
        """Mark the result under the cursor for a comparison of two, or take its mark away."""
        key = self.query_one(RowTable).key
        if key is None:
            return
        if key in self._marked:
            self._marked.remove(key)
        else:
            self._marked = [*self._marked[-1:], key]
        self._show_rows()

    def action_compare(self) -> None:
        """Show the two marked results side by side."""
        if len(self._marked) < 2:
            self.notify("x marks two results; c then compares them.", timeout=3)
            return
        self.start(self._compare, "report")

    async def _compare(self) -> None:
        from edgelab.screens.report_dialog import ReportDialog

        app = self.lab_app
        first, second = self._marked
        app.push_screen(ReportDialog(await app.read(app.sources.comparison, first, second)))

    def commands(self) -> Iterable[SystemCommand]:
        """Return the commands of this screen."""
        yield SystemCommand("Open this run", "Enter", self.action_open)
        yield SystemCommand("Run this again", "Key r; task and candidate", self.action_again)
        yield SystemCommand("Report", "Key v; CSR, FCR, Fast@p and more of what is shown", self.action_report)
        yield SystemCommand("Compare two results", "Key x marks them, c compares", self.action_compare)

    def copied_text(self) -> str:
        """Return the detail as text."""
        return text_of(self.query_one("#detail", LinesView).lines)
