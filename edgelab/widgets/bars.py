"""The one-line bars of every screen: navigation, keys, filter, and the banner for problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.spans import Line, Span, spread, width, wrap

if TYPE_CHECKING:
    from textual.app import ComposeResult


class Hint(NamedTuple):
    """A key on the bottom line; `action` runs on a click. Hints that do not fit are left out, last first."""

    key: str
    label: str
    action: str = ""


MODES: tuple[tuple[str, str, str], ...] = (
    ("1", "lab", "Lab"),
    ("2", "tasks", "Tasks"),
    ("3", "runner", "Runner"),
    ("4", "leka", "LEKA"),
    ("5", "results", "Results"),
)
"""Number key, mode and title of each screen."""


def nav_line(mode: str, brief: Sequence[Span], cells: int) -> Line:
    """Return the navigation line: the screens, the present one marked, and the watched run in brief."""
    line: Line = [Span(" EdgeLab ", "accent bold"), Span(" ")]
    for key, name, title in MODES:
        action = f"app.go('{name}')"
        if name == mode:
            line.append(Span(f" {key} {title} ", "mark on:accent bold", action))
        else:
            line += [Span(f" {key} ", "faint", action), Span(f"{title} ", "muted", action)]
    # The brief gives way span by span: half a name helps nobody.
    shown = list(brief)
    while shown and width(line) + width(shown) + 2 > cells:
        shown.pop()
    return spread(line, [*shown, Span(" ")], cells)


def key_line(hints: Sequence[Hint], always: Sequence[Hint], cells: int) -> Line:
    """Return as many `hints` as fit whole at the left, and those that are `always` there at the right."""
    right: Line = []
    for hint in always:
        right += _hint(hint)
    line: Line = [Span(" ")]
    for hint in hints:
        shown = _hint(hint)
        if width(line) + width(shown) + width(right) > cells:
            break
        line += shown
    return spread(line, right, cells)


def _hint(hint: Hint) -> Line:
    key = Span(hint.key, "accent", hint.action)
    return [key, Span(f" {hint.label}", "muted", hint.action), Span("  ")]


class NavBar(LinesPanel):
    """The top line."""

    def __init__(self, mode: str) -> None:
        super().__init__(id="nav")
        self._mode = mode
        self._brief: Line = []

    def show(self, brief: Line) -> None:
        """Show the watched run in brief at the right."""
        self._brief = brief
        self.refresh_lines()

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the line."""
        return [nav_line(self._mode, self._brief, cells)]


class KeyBar(LinesPanel):
    """The bottom line."""

    def __init__(self, hints: Sequence[Hint], always: Sequence[Hint]) -> None:
        super().__init__(id="keys")
        self._hints, self._always = tuple(hints), tuple(always)

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the line."""
        return [key_line(self._hints, self._always, cells)]


class Banner(LinesPanel):
    """A calm notice above the content; not on the screen while there is nothing to say."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self.display = False
        self._text = ""
        self._style = "warn"

    @property
    def text(self) -> str:
        """What the banner says, empty when hidden."""
        return self._text

    def say(self, text: str, style: str = "warn") -> None:
        """Show `text`; an empty one hides the banner."""
        if (text, style) == (self._text, self._style):
            return
        self._text, self._style = text, style
        self.display = bool(text)
        cells = max(self.app.size.width - 4, 8)
        self.styles.height = max(len(wrap(text, cells)), 1)
        self.refresh_lines()

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the notice, wrapped."""
        mark = "! " if self._style != "info" else "i "
        shown = []
        for index, text in enumerate(wrap(self._text, max(cells - 4, 8))[:rows]):
            shown.append(
                [Span(f" {mark}" if index == 0 else "   ", f"{self._style} bold"), Span(text, self._style)]
            )
        return shown


class FilterBar(Horizontal):
    """The `/` line: hidden until asked for; says every change and closes on Enter or Escape."""

    class Changed(Message):
        """The filter text is another one."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """The line was left; the filter stays unless it was emptied."""

    def __init__(self) -> None:
        super().__init__(id="filter")
        self.display = False

    def compose(self) -> ComposeResult:
        """Lay out the prompt and the input."""
        yield Static(" / ", id="filter-prompt")
        yield Input(placeholder="words that must occur, !word for one that must not", id="filter-input")

    @property
    def text(self) -> str:
        """The present filter text."""
        return self.query_one(Input).value if self.is_mounted else ""

    def open(self) -> None:
        """Show the line and take the keyboard."""
        self.display = True
        self.query_one(Input).focus()

    def clear(self) -> None:
        """Empty the filter and hide the line."""
        self.query_one(Input).value = ""
        self.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass the change on."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Leave the line; an empty filter hides it."""
        event.stop()
        self.display = bool(event.value.strip())
        self.post_message(self.Closed())
