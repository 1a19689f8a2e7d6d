"""The dialog that asks for a candidate file; it closes only with one that can be read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Input

from edgelab.errors import EdgeLabError
from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.spans import Line, Span, rule, wrap

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.app import EdgeLabApp

_MOST_ENTRIES = 5000


class CandidateDialog(ModalScreen[Path | None]):
    """Asks for a candidate file for `task`; `before` is the path offered. Escape closes without one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
        Binding("tab", "complete", "Complete", show=False, priority=True),
    ]

    def __init__(self, task: str, before: str = "") -> None:
        super().__init__()
        self._task_name, self._before = task, before

    def compose(self) -> ComposeResult:
        """One box: what is asked, the input, and what was wrong."""
        with Vertical(classes="dialog wide"):
            yield _About(self._task_name)
            yield Input(
                self._before,
                placeholder="path of a TVMScript file",
                suggester=PathSuggester(use_cache=False, case_sensitive=True),
                select_on_focus=False,
                id="candidate-input",
            )
            yield _Problem()

    @property
    def problem(self) -> str:
        """What was wrong with the path entered last."""
        return self.query_one(_Problem).text

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.run_worker(self._check(event.value), exclusive=True, exit_on_error=False)

    async def _check(self, typed: str) -> None:
        app = cast("EdgeLabApp", self.app)
        try:
            self.dismiss(await app.aside(app.sources.candidate, typed))
        except EdgeLabError as error:
            self.query_one(_Problem).say(str(error))
        except TimeoutError:
            self.query_one(_Problem).say("The file could not be read in time.")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(_Problem).say("")

    def action_complete(self) -> None:
        """Take the path that is offered."""
        self.query_one(Input).action_cursor_right()

    def action_close(self) -> None:
        """Close without a file."""
        self.dismiss(None)


class PathSuggester(Suggester):
    """Offers the first entry of the folder that goes on as what was typed; folders end in a slash."""

    async def get_suggestion(self, value: str) -> str | None:
        """Return the whole path, None where nothing goes on so."""
        return await asyncio.to_thread(continued, value)


def continued(typed: str) -> str | None:
    """Return the path that goes on from `typed`, None where there is none or its folder cannot be read."""
    folder, _, begun = typed.rpartition("/")
    if not typed.strip():
        return None
    try:
        place = Path(f"{folder}/" if "/" in typed else ".").expanduser()
        found = sorted(path.name for _, path in zip(range(_MOST_ENTRIES), place.iterdir(), strict=False))
        shown = [name for name in found if name.startswith(begun) and (begun or not name.startswith("."))]
        if not shown:
            return None
        end = "/" if (place / shown[0]).is_dir() else ""
    except (OSError, ValueError, RuntimeError):
        return None
    return f"{typed}{shown[0][len(begun) :]}{end}"


class _About(LinesPanel):
    def __init__(self, task: str) -> None:
        super().__init__(id="candidate-about")
        self._task_name = task

    def lines(self, cells: int, rows: int) -> list[Line]:
        said = "Enter runs it, tab completes the path, esc closes."
        return [
            rule(f"Candidate for {self._task_name}", cells),
            *([Span(t, "muted")] for t in wrap(said, cells)),
        ]


class _Problem(LinesPanel):
    def __init__(self) -> None:
        super().__init__(id="candidate-error")
        self.text = ""

    def say(self, text: str) -> None:
        self.text = text
        self.refresh_lines()

    def lines(self, cells: int, rows: int) -> list[Line]:
        if not self.text:
            return []
        lead = [Span("✗ ", "bad bold")]
        return [
            [*(lead if index == 0 else [Span("  ")]), Span(line, "bad")]
            for index, line in enumerate(wrap(self.text, cells - 2)[:rows])
        ]
