"""Dialogs over a screen: the keys, a question, the choice of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from edgelab import quantities as fmt
from edgelab.screens.run_words import STATES, VERDICTS
from edgelab.widgets.bars import MODES
from edgelab.widgets.lines import LinesPanel, LinesView
from edgelab.widgets.spans import Line, Span, rule, wrap
from edgelab.widgets.table import Column, Row, RowTable

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.app import EdgeLabApp
    from edgelab.store.records import RunRecord, RunState

_EVERYWHERE = (
    ("1 … 5", "go to a screen"),
    ("/", "filter: words that must occur, !word must not"),
    ("esc", "leave the filter, else (not in Tasks) go back"),
    ("tab", "next part of the screen"),
    ("y", "copy (OSC 52, works over SSH)"),
    ("space", "hold this view still; the intake goes on"),
    ("ctrl+s", "save the screen as SVG"),
    ("ctrl+p", "all commands"),
    ("t", "light or dark theme"),
    ("q", "quit; runs go on"),
)

_OF_A_SCREEN: dict[str, tuple[tuple[str, str], ...]] = {
    "lab": (
        ("j k g G", "move between devices; in the detail, scroll"),
        ("enter", "read the detail; esc or tab comes back"),
        ("x a", "mark this device, all devices"),
        ("c", "check the marked devices (or this one), all at once"),
        ("v", "show or fold the verdicts of that check; y copies them"),
        ("L", "lock their clocks (says what changes, and asks)"),
        ("R", "put back what they had before"),
        ("d", "let runs go to this device"),
        ("u", "trust an unknown host key (shows it, asks)"),
        ("p", "give the sudo password of this device"),
        ("r", "connect anew"),
        ("P", "stop looking at the boards, or go on"),
        ("n", "add a device to the lab file"),
        ("s S", "sort by the next column, turn the order"),
    ),
    "results": (
        ("enter", "open the run in the Runner"),
        ("v", "report over what the filter shows: CSR, FCR, Fast@p, GM"),
        ("x", "mark a result, up to two"),
        ("c", "compare the two that are marked"),
        ("r", "run the same again"),
        ("s S", "sort by the next column, turn the order"),
    ),
    "tasks": (
        ("enter r", "run the task on the chosen device"),
        ("d", "choose the device that runs go to"),
        ("c", "run a candidate file: asks for its path"),
        ("j k g G", "move in the list"),
        ("s S", "sort by the next column, turn the order"),
    ),
    "runner": (
        ("s", "stop the run (asks first)"),
        ("r", "run task and candidate file again"),
        ("R", "resume a run that was interrupted or lost"),
        ("p", "choose a run"),
        ("[ ]", "older, newer run"),
        ("m", "the log alone"),
        ("j k g", "scroll the log; following ends"),
        ("end G", "newest line; following resumes"),
        ("h l", "scroll long lines sideways"),
    ),
    "leka": (),
}


class HelpDialog(ModalScreen[None]):
    """The keys of a screen and those that work everywhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "close", "Close", show=False)
    ]

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._mode = mode

    def compose(self) -> ComposeResult:
        """One box."""
        with Vertical(classes="dialog"):
            yield LinesView(id="keys-text")

    @on(LinesView.Resized)
    def _fill(self) -> None:
        title = next(title for _, mode, title in MODES if mode == self._mode)
        view = self.query_one(LinesView)
        cells = view.cells
        lines: list[Line] = []
        if own := _OF_A_SCREEN[self._mode]:
            lines += [rule(title, cells), *_keys(own, cells), []]
        lines += [rule("Everywhere", cells), *_keys(_EVERYWHERE, cells)]
        view.set_lines(lines)
        view.styles.height = min(len(lines), self.app.size.height - 6)

    def on_click(self) -> None:
        """Any click closes."""
        self.dismiss(None)

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)


def _keys(keys: Sequence[tuple[str, str]], cells: int) -> list[Line]:
    return [
        [Span(f"{key if index == 0 else '':<10}", "accent"), Span(text, "text")]
        for key, said in keys
        for index, text in enumerate(wrap(said, cells - 10))
    ]


class ConfirmDialog(ModalScreen[bool]):
    """A question with two answers; Escape and n are the harmless one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes", show=False),
        Binding("n,escape", "answer(False)", "No", show=False),
    ]

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._question, self._yes, self._no = question, yes, no

    def compose(self) -> ComposeResult:
        """One box."""
        with Vertical(classes="dialog"):
            yield _Question(self._question, self._yes, self._no)

    def action_answer(self, yes: bool) -> None:
        """Close with the answer."""
        self.dismiss(yes)


class _Question(LinesPanel):
    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__(id="question")
        self._question, self._yes, self._no = question, yes, no

    def lines(self, cells: int, rows: int) -> list[Line]:
        answers: Line = [
            Span(" y ", "mark on:accent bold", "screen.answer(True)"),
            Span(f" {self._yes}", "text", "screen.answer(True)"),
            Span("     "),
            Span(" n ", "mark on:muted bold", "screen.answer(False)"),
            Span(f" {self._no}", "text", "screen.answer(False)"),
        ]
        return [*([Span(line, "text")] for line in wrap(self._question, cells)), [], answers]


_RUN_COLUMNS = (
    Column("Run", 13, priority=0),
    Column("Task", 18, priority=0, grow=True),
    Column("State", 13, priority=1),
    Column("Speed-up", 8, priority=2, right=True),
    Column("Device", 10, priority=4),
    Column("When", 10, priority=3, right=True),
)


def run_rows(runs: Sequence[tuple[RunRecord, RunState]], now_s: float) -> list[Row]:
    """Return one row a run; its verdict once it has one, else its state."""
    rows = []
    for run, state in runs:
        glyph, word, style = VERDICTS[run.result.verdict] if run.result is not None else STATES[state]
        speedup = run.result.speedup if run.result is not None and run.result.verdict == "ok" else None
        cells = (
            Span(run.id, "muted"),
            Span(run.task, "text"),
            Span(f"{glyph} {word}", style),
            Span(fmt.speedup(speedup), "text" if speedup is not None else "faint"),
            Span(run.device + (" (sim)" if run.simulated else ""), "muted"),
            Span(fmt.age(now_s - run.created_s), "muted"),
        )
        order = (run.id, run.task, word, speedup, run.device, run.created_s)
        rows.append(Row(run.id, cells, order, f"{run.id} {run.task} {word} {run.device}"))
    return rows


class RunPicker(ModalScreen[str | None]):
    """The newest runs; Enter opens one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,p", "close", "Close", show=False)]

    def compose(self) -> ComposeResult:
        """One box with a table."""
        with Vertical(classes="dialog wide"):
            yield RowTable(_RUN_COLUMNS, id="runs", empty="There is no run yet.")

    def on_mount(self) -> None:
        """Read the runs."""
        self.run_worker(self._load(), exit_on_error=False)

    async def _load(self) -> None:
        app = cast("EdgeLabApp", self.app)
        runs = await app.read(app.sources.store.runs, 200)

        def with_states() -> list[tuple[RunRecord, RunState]]:
            return [(run, app.sources.run_state(run)) for run in runs]

        table = self.query_one(RowTable)
        table.set_rows(run_rows(await app.aside(with_states), app.sources.now_s()))
        if app.feed is not None:
            table.select(app.feed.run_id)

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.dismiss(event.key)

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
