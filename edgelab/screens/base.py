"""What all five screens share: bars, banner, filter, visibility, and work that may fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from edgelab.errors import EdgeLabError
from edgelab.widgets.bars import Banner, FilterBar, Hint, KeyBar, NavBar
from edgelab.widgets.query import Query

if TYPE_CHECKING:
    from textual.app import ComposeResult, SystemCommand

    from edgelab.app import EdgeLabApp
    from edgelab.screens.run_feed import RunSnapshot
    from edgelab.widgets.spans import Line

COMMON_HINTS: tuple[Hint, ...] = (
    Hint("?", "keys", "screen.help"),
    Hint("q", "quit", "app.leave"),
)


class EdgeScreen(Screen[None]):
    """A mode of the app. Subclasses give `MODE`, `HINTS` and `compose_body`, and override what they need."""

    MODE: ClassVar[str] = ""
    HINTS: ClassVar[Sequence[Hint]] = ()
    AUTO_FOCUS = "RowTable, LogView, LinesView"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - not a ClassVar in Textual
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (20, "-short"), (36, "-tall")]  # noqa: RUF012 - not a ClassVar in Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", show=False),
        Binding("escape", "back", "Back", show=False),
        Binding("y", "copy", "Copy", show=False),
        Binding("question_mark", "help", "Keys", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.visible_now = False
        self._notices: dict[str, tuple[str, str]] = {}

    @property
    def lab_app(self) -> EdgeLabApp:
        """The app, with its type."""
        return cast("EdgeLabApp", self.app)

    @property
    def can_paint(self) -> bool:
        """Whether its widgets exist and are seen: not before it came on show, nor while the app ends.

        Work beside the screens does not stop at once when the app ends, and its widgets go one by one.
        """
        return self.visible_now and self.app.is_running

    def compose(self) -> ComposeResult:
        """Lay out the bars around the body."""
        yield NavBar(self.MODE)
        yield Banner()
        yield from self.compose_body()
        yield FilterBar()
        yield KeyBar(self.HINTS, COMMON_HINTS)

    def compose_body(self) -> ComposeResult:
        """Yield the content of the screen."""
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        """The screen is on show: bring it up to date."""
        self.visible_now = True
        self.show_brief(self.lab_app.brief)
        self.say(self.lab_app.trouble, about="follow")
        self._paint_notices()
        self.arrive()

    def on_screen_suspend(self) -> None:
        """The screen is hidden: it stops asking for anything."""
        self.visible_now = False
        self.depart()

    def on_unmount(self) -> None:
        """The app ends."""
        self.visible_now = False

    def arrive(self) -> None:
        """Called each time the screen comes on show."""

    def depart(self) -> None:
        """Called each time the screen is hidden."""

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Called about twelve times a second with the watched run while the view is not paused."""

    def apply_filter(self, query: Query) -> None:
        """Called when the filter changed."""

    def commands(self) -> Iterable[SystemCommand]:
        """Return what this screen adds to the command palette."""
        return ()

    def copied_text(self) -> str:
        """Return what `y` copies, empty for nothing."""
        return ""

    def say(self, text: str, style: str = "warn", *, about: str = "") -> None:
        """Show a notice in the banner; an empty text takes back the one about the same thing."""
        if text:
            self._notices[about] = (text, style)
        elif self._notices.pop(about, None) is None:
            return
        self._paint_notices()

    def _paint_notices(self) -> None:
        """Show the newest notice; one that comes while the screen cannot paint is shown when it arrives."""
        if self.can_paint:
            newest = list(self._notices.values())[-1] if self._notices else ("", "warn")
            self.query_one(Banner).say(*newest)

    def show_brief(self, brief: Line) -> None:
        """Show the watched run in the navigation line."""
        if self.can_paint:
            self.query_one(NavBar).show(brief)

    def start(self, work: Callable[[], Awaitable[None]], group: str) -> None:
        """Run `work` beside the screen; a newer one of the same group replaces it. Errors become the banner."""
        self.run_worker(partial(self._guard, work, group), group=group, exclusive=True, exit_on_error=False)

    async def _guard(self, work: Callable[[], Awaitable[None]], group: str) -> None:
        try:
            await work()
            self.say("", about=group)
        except EdgeLabError as error:
            self.say(str(error), about=group)
        except TimeoutError:
            self.say("No answer in time; it is tried again when you come back to this screen.", about=group)

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            place = self.lab_app.record_error(event.worker.error)
            said = f"Internal error: {event.worker.error!r}. The traceback is in {place}."
            self.say(said, "bad", about=event.worker.group)

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self.apply_filter(Query(event.text))

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self.focus_body()

    def focus_body(self) -> None:
        """Give the keyboard back to the content."""
        for widget in self.query(self.AUTO_FOCUS or "*"):
            if widget.focusable:
                widget.focus()
                return

    def action_filter(self) -> None:
        """Open the filter line."""
        self.query_one(FilterBar).open()

    def action_back(self) -> None:
        """Leave the filter, else go to the screen before."""
        bar = self.query_one(FilterBar)
        if bar.display:
            bar.clear()
            self.focus_body()
        else:
            self.lab_app.go_back()

    def action_copy(self) -> None:
        """Copy what is under the cursor to the terminal's clipboard (OSC 52)."""
        text = self.copied_text()
        if text:
            self.app.copy_to_clipboard(text)
            lines = text.count("\n") + 1
            what = text if lines == 1 and len(text) <= 60 else f"{lines} lines"
            self.notify(f"Copied {what}.", timeout=2)
        else:
            self.notify("There is nothing to copy here.", timeout=2)

    def action_help(self) -> None:
        """Show the keys of this screen."""
        from edgelab.screens.dialogs import HelpDialog

        self.app.push_screen(HelpDialog(self.MODE))
