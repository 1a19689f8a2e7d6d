"""A streaming log: bounded, following until the reader scrolls up, filtered, never fighting the reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from edgelab import quantities as fmt
from edgelab.visible_text import visible
from edgelab.widgets.lines import to_strip
from edgelab.widgets.marks import thumb
from edgelab.widgets.palette import palette_of
from edgelab.widgets.query import Query
from edgelab.widgets.spans import Line, Span, fit, pad, rule, spread

if TYPE_CHECKING:
    from textual.strip import Strip

    from edgelab.screens.run_view import LogEntry

_LEVELS = {
    "debug": ("", "faint"),
    "info": ("", "text"),
    "warning": ("warning: ", "warn"),
    "error": ("error: ", "bad"),
}
_SHIFT_CELLS = 16


def entry_line(entry: LogEntry, cells: int, shift: int = 0) -> Line:
    """Return one log line of `cells`; `shift` is how far its text is scrolled to the left."""
    word, style = _LEVELS.get(entry.level, _LEVELS["info"])
    head = [Span(fmt.clock(entry.time_s), "faint"), Span(f" {entry.source:<9.9} ", "muted")]
    text = (word + visible(entry.text))[shift:]
    return fit([*head, Span(text, style)], cells)


class LogView(Widget, can_focus=True):
    """Shows the entries given to `show`; painting costs only the visible lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "top", "Oldest", show=False),
        Binding("end,G", "follow", "Newest, follow", show=False),
        Binding("left,h", "shift(-1)", "Left", show=False),
        Binding("right,l", "shift(1)", "Right", show=False),
    ]

    def __init__(self, *, limit: int = 5000, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: Sequence[LogEntry] = ()
        self._matching: deque[LogEntry] = deque(maxlen=limit)
        self._query = Query()
        self._last_number = 0
        self._skipped = 0
        self._top = 0
        self._unread = 0
        self._shift = 0
        self.following = True

    def show(self, entries: Sequence[LogEntry], *, skipped: int = 0) -> None:
        """Take over the log of a run: `entries` end with the newest; those seen before are recognised."""
        if entries and entries[-1].number < self._last_number:
            self.reset()
        newest = entries[-1].number if entries else 0
        if newest == self._last_number and skipped == self._skipped:
            return
        self._entries, self._skipped = entries, skipped
        fresh = entries[-(newest - self._last_number) :] if newest > self._last_number else ()
        self._last_number = newest
        self._forget_before(entries[0].number if entries else 0)
        self._take([entry for entry in fresh if self._query.matches(_searched(entry))])
        self.refresh()

    def reset(self) -> None:
        """Forget everything, follow again: another run is shown."""
        self._entries, self._last_number, self._skipped = (), 0, 0
        self._matching.clear()
        self._top, self._unread, self._shift, self.following = 0, 0, 0, True
        self.refresh()

    def filter(self, query: Query) -> None:
        """Show only matching entries; a reader who scrolled up stays near the entry at the top."""
        anchor = self._matching[self._top].number if self._top < len(self._matching) else 0
        self._query = query
        self._matching.clear()
        self._matching.extend(entry for entry in self._entries if query.matches(_searched(entry)))
        if not self.following:
            before = sum(1 for entry in self._matching if entry.number < anchor)
            self._top = min(before, self._last_top)
        self.refresh()

    def text(self) -> str:
        """Return the matching log as text, for copying."""
        return "\n".join(
            visible(f"{fmt.clock(e.time_s)} {e.source} {e.level} {e.text}") for e in self._matching
        )

    def _forget_before(self, number: int) -> None:
        while self._matching and self._matching[0].number < number:
            self._matching.popleft()
            self._top = max(self._top - 1, 0)

    def _take(self, fresh: list[LogEntry]) -> None:
        overflow = len(self._matching) + len(fresh) - (self._matching.maxlen or 0)
        self._matching.extend(fresh)
        if not self.following:
            self._top = max(self._top - max(overflow, 0), 0)
            self._unread += len(fresh)

    @property
    def _rows(self) -> int:
        return max(self.content_size.height - 1, 1)

    @property
    def _last_top(self) -> int:
        return max(len(self._matching) - self._rows, 0)

    def _first(self) -> int:
        return self._last_top if self.following else min(self._top, self._last_top)

    def _show_from(self, top: int) -> None:
        self._top = min(max(top, 0), self._last_top)
        self.following = self._top >= self._last_top
        if self.following:
            self._unread = 0
        self.refresh()

    def action_move(self, lines: int) -> None:
        """Scroll by lines; reaching the end follows again."""
        self._show_from(self._first() + lines)

    def action_page(self, pages: int) -> None:
        """Scroll by pages."""
        self._show_from(self._first() + pages * max(self._rows - 1, 1))

    def action_top(self) -> None:
        """Go to the oldest line kept."""
        self._show_from(0)

    def action_follow(self) -> None:
        """Go to the newest line and follow."""
        self._show_from(self._last_top)

    def action_shift(self, direction: int) -> None:
        """Scroll long lines sideways."""
        self._shift = max(self._shift + direction * _SHIFT_CELLS, 0)
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up: following ends."""
        event.stop()
        self.action_move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.stop()
        self.action_move(3)

    def on_click(self, event: events.Click) -> None:
        """A click on the scroll bar goes there."""
        if event.x >= self.content_size.width - 1 and event.y >= 1:
            self._show_from(round((event.y - 1) / max(self._rows - 1, 1) * self._last_top))

    def render_line(self, y: int) -> Strip:
        """Paint the heading or one log line."""
        cells = self.content_size.width
        palette = palette_of(self.app)
        if y == 0:
            return to_strip(pad(self._heading(cells), cells), palette).apply_style(self.rich_style)
        first = self._first()
        line: Line = []
        if first + y - 1 < len(self._matching):
            line = entry_line(self._matching[first + y - 1], cells - 2, self._shift)
        elif y == 1 and not self._matching:
            line = [Span("nothing matches the filter" if self._query else "no log yet", "faint")]
        bar = thumb(y - 1, self._rows, len(self._matching), first)
        return to_strip([*pad(line, cells - 1), bar], palette).apply_style(self.rich_style)

    def _heading(self, cells: int) -> Line:
        parts = []
        if self._skipped:
            parts.append(f"{fmt.count(self._skipped)} lines skipped")
        if self._query:
            parts.append(f"{fmt.count(len(self._matching))} match “{self._query.text}”")
        if self.following:
            parts.append("following")
        else:
            parts.append(f"held, {fmt.count(self._unread)} new below, End follows")
        if self._shift:
            parts.append(f"← {self._shift}")
        heading = rule("Log", cells - 1, " · ".join(parts))
        if self.has_focus and heading:
            heading[0] = Span("Log", "accent bold")
        return spread(heading, [], cells)

    def watch_has_focus(self, value: bool) -> None:
        """Repaint the heading, which shows the focus."""
        super().watch_has_focus(value)
        self.refresh()

    def render(self) -> Any:
        """Return nothing: `render_line` paints."""
        return ""


def _searched(entry: LogEntry) -> str:
    return f"{entry.source} {entry.level} {entry.text}"
