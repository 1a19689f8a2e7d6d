"""Screen 4: what the LEKA screen will show. Nothing here is measured, and it says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on

from edgelab.screens.base import EdgeScreen
from edgelab.widgets.bars import Hint
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import Line, Span, rule, text_of, wrap

if TYPE_CHECKING:
    from textual.app import ComposeResult

_INTRO = (
    "LEKA searches for faster kernels on three levels: the graph, the schedule, and the target source. "
    "This screen will let you watch such a search for hours, leave, come back and miss nothing."
)

_PARTS = (
    ("Is it alive", "State by the lock on the run folder, budget clock, time left, what it is doing now."),
    (
        "Candidate tree",
        "Every program tried, by level; the path to the best one; compare, roll back, continue from a node.",
    ),
    (
        "Profiler",
        "Where the time goes, kernel by kernel; which level holds the bottleneck, how sure that is, and why.",
    ),
    (
        "Best so far",
        "The fastest verified program, its paired speed-up with the 95 % interval, its peak memory.",
    ),
    ("Cost", "Model calls, tokens, money, device seconds, builds, and work that led nowhere, per level."),
)


def leka_lines(cells: int) -> list[Line]:
    """Return the text of the screen."""
    cells = min(cells, 100)
    lines: list[Line] = [[], rule("LEKA, the layered agent", cells, "not built yet"), []]
    lines += [[Span(line, "text")] for line in wrap(_INTRO, cells)]
    lines.append([])
    for title, text in _PARTS:
        for index, line in enumerate(wrap(text, cells - 18)):
            lines.append([Span(f"{title if index == 0 else '':<18}", "accent"), Span(line, "muted")])
        lines.append([])
    lines.append(
        [
            Span("Until then: ", "muted"),
            Span("2", "accent bold", "app.go('tasks')"),
            Span(" chooses a task, ", "muted"),
        ]
    )
    lines[-1] += [Span("3", "accent bold", "app.go('runner')"), Span(" shows its run.", "muted")]
    return lines


class LekaScreen(EdgeScreen):
    """Says what will be here."""

    MODE = "leka"
    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("2", "tasks", "app.go('tasks')"),
        Hint("3", "runner", "app.go('runner')"),
    )

    def compose_body(self) -> ComposeResult:
        """One text."""
        yield LinesView(id="text")

    @on(LinesView.Resized)
    def _show(self) -> None:
        view = self.query_one("#text", LinesView)
        view.set_lines([[Span(" "), *line] for line in leka_lines(view.cells - 1)])

    def copied_text(self) -> str:
        """Return the text."""
        return text_of(self.query_one("#text", LinesView).lines)
