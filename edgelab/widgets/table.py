"""A table that paints only its visible rows: cursor, sorting by header, columns that give way by priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

from edgelab.widgets.lines import to_strip
from edgelab.widgets.marks import thumb
from edgelab.widgets.palette import palette_of
from edgelab.widgets.query import Query
from edgelab.widgets.spans import Line, Span, clip, pad

if TYPE_CHECKING:
    from textual.strip import Strip


class Column(NamedTuple):
    """A column of `cells`; the lowest `priority` number stays longest. `grow` takes what room is left.

    An `extra` column is left out where others would be cut: what it says is told elsewhere too.
    """

    title: str
    cells: int
    priority: int = 1
    right: bool = False
    grow: bool = False
    extra: bool = False


class Row(NamedTuple):
    """A row: its key, one span a column, one sort value a column (None sorts last), the text `/` searches."""

    key: str
    cells: tuple[Span, ...]
    order: tuple[Any, ...]
    searched: str = ""


def needed_cells(rows: Sequence[Row], columns: int) -> list[int]:
    """Return the cells that the widest text of each column takes."""
    needed = [0] * columns
    for row in rows:
        for index, span in enumerate(row.cells):
            text = span.text
            taken = len(text) if text.isascii() else cell_len(text)
            needed[index] = max(needed[index], taken)
    return needed


def visible_columns(
    columns: Sequence[Column], cells: int, needed: Sequence[int] = ()
) -> list[tuple[int, int]]:
    """Return (column index, cells) of the columns that fit; the least important ones give way first.

    Room that is left goes to columns whose widest text `needed` more, the most important first, then to
    those that grow.
    """
    chosen = set(range(len(columns)))

    def used() -> int:
        return sum(columns[index].cells for index in chosen) + 2 * max(len(chosen) - 1, 0)

    for index in sorted(range(len(columns)), key=lambda i: (columns[i].priority, i), reverse=True):
        if used() <= cells or len(chosen) == 1:
            break
        chosen.discard(index)
    lacking = sum(max(need - columns[index].cells, 0) for index, need in enumerate(needed) if index in chosen)
    if lacking > cells - used() and not all(columns[index].extra for index in chosen):
        chosen -= {index for index in chosen if columns[index].extra}
    spare = max(cells - used(), 0)
    growing = [index for index in sorted(chosen) if columns[index].grow]
    widths = {index: columns[index].cells for index in chosen}
    for index in sorted(chosen & set(range(len(needed))), key=lambda i: (columns[i].priority, i)):
        more = min(max(needed[index] - widths[index], 0), spare)
        widths[index] += more
        spare -= more
    for position, index in enumerate(growing):
        widths[index] += spare // len(growing) + (1 if position < spare % len(growing) else 0)
    return sorted(widths.items())


def sort_rows(rows: Sequence[Row], column: int, descending: bool) -> list[Row]:
    """Return rows by one column; unknown values come last either way; equal ones keep their order."""
    known = [row for row in rows if row.order[column] is not None]
    unknown = [row for row in rows if row.order[column] is None]
    return sorted(known, key=lambda row: row.order[column], reverse=descending) + unknown


class RowTable(Widget, can_focus=True):
    """Rows under a header. The cursor stays on its row's key when rows change, sort or filter.

    A `steady` table is for values that change all the time: no column grows with its texts, and the cursor
    is told only when it is on another row.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(0)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("enter", "choose", "Choose", show=False),
        Binding("s", "sort_next", "Sort by next column", show=False),
        Binding("S", "sort_turn", "Turn the order", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another row; `key` is None when there is none."""

        def __init__(self, table: RowTable, key: str | None) -> None:
            super().__init__()
            self.table, self.key = table, key

    class Chosen(Message):
        """Enter or a double click on a row."""

        def __init__(self, table: RowTable, key: str) -> None:
            super().__init__()
            self.table, self.key = table, key

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        id: str | None = None,
        empty: str = "nothing here yet",
        sort: tuple[int, bool] | None = None,
        steady: bool = False,
    ) -> None:
        super().__init__(id=id)
        self._columns = tuple(columns)
        self._steady = steady
        self._all: list[Row] = []
        self._needed: list[int] = []
        self._rows_shown: list[Row] = []
        self._query = Query()
        self._sort = sort
        self._cursor = 0
        self._top = 0
        self.empty = empty

    @property
    def shown(self) -> int:
        """Number of rows that match the filter."""
        return len(self._rows_shown)

    @property
    def keys(self) -> list[str]:
        """The keys of the rows that match the filter, in their order."""
        return [row.key for row in self._rows_shown]

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self._all)

    @property
    def key(self) -> str | None:
        """The key of the row under the cursor."""
        return self._rows_shown[self._cursor].key if self._cursor < len(self._rows_shown) else None

    @property
    def sorted_by(self) -> str:
        """The sort order in words, empty for the given order."""
        if self._sort is None:
            return ""
        column, descending = self._sort
        return f"by {self._columns[column].title.lower()} {'↓' if descending else '↑'}"

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns; the rows, which belong to the columns before, are taken away."""
        self._columns = tuple(columns)
        self._sort = None
        self._all = []
        self._arrange()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        if list(rows) == self._all:
            return
        self._all = list(rows)
        if not self._steady:
            self._needed = needed_cells(self._all, len(self._columns))
            self._arrange()
        elif not self._refresh_changed():
            self._arrange()

    def _refresh_changed(self) -> bool:
        """Repaint the rows that changed, if they are the same rows at the same places; say whether they are."""
        before, fresh = self._rows_shown, self._arranged()
        if [row.key for row in before] != [row.key for row in fresh]:
            return False
        self._rows_shown = fresh
        for index, (old, new) in enumerate(zip(before, fresh, strict=True)):
            place = index - self._top
            if old is not new and old != new and 0 <= place < self._height:
                self.refresh(Region(0, place + 1, self.content_size.width, 1))
        return True

    def _arranged(self) -> list[Row]:
        """Return the rows that match the filter, in the sort order."""
        rows = [row for row in self._all if self._query.matches(row.searched)]
        return sort_rows(rows, *self._sort) if self._sort is not None else rows

    def filter(self, query: Query) -> None:
        """Show only rows whose searched text matches."""
        if query != self._query:
            self._query = query
            self._arrange()

    def select(self, key: str) -> None:
        """Move the cursor to a row, if it is shown."""
        for index, row in enumerate(self._rows_shown):
            if row.key == key:
                self._go(index)
                return

    def _visible(self) -> list[tuple[int, int]]:
        return visible_columns(self._columns, self.content_size.width - 3, self._needed)

    def _arrange(self) -> None:
        key = self.key
        self._rows_shown = self._arranged()
        keys = [row.key for row in self._rows_shown]
        self._cursor = keys.index(key) if key in keys else min(self._cursor, max(len(keys) - 1, 0))
        self._keep_visible()
        self.refresh()
        if not self._steady or self.key != key:
            self.post_message(self.Highlighted(self, self.key))

    @property
    def _height(self) -> int:
        return max(self.content_size.height - 1, 1)

    def _keep_visible(self) -> None:
        self._top = min(max(self._top, self._cursor - self._height + 1), self._cursor)
        self._top = max(min(self._top, len(self._rows_shown) - self._height), 0)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._keep_visible()

    def _go(self, index: int) -> None:
        index = min(max(index, 0), max(len(self._rows_shown) - 1, 0))
        if index != self._cursor:
            self._cursor = index
            self.post_message(self.Highlighted(self, self.key))
        self._keep_visible()
        self.refresh()

    def action_move(self, lines: int) -> None:
        """Move the cursor by lines."""
        self._go(self._cursor + lines)

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self._go(self._cursor + pages * max(self._height - 1, 1))

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first or last row."""
        self._go(len(self._rows_shown) - 1 if last else 0)

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.key is not None:
            self.post_message(self.Chosen(self, self.key))

    def action_sort_next(self) -> None:
        """Sort by the next visible column; after the last one, back to the given order."""
        visible = [index for index, _ in self._visible()]
        place = visible.index(self._sort[0]) if self._sort and self._sort[0] in visible else -1
        self._sort = (visible[place + 1], False) if place + 1 < len(visible) else None
        self._arrange()

    def action_sort_turn(self) -> None:
        """Turn the sort order round."""
        column, descending = self._sort or (0, False)
        self._sort = (column, not descending)
        self._arrange()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the cursor up."""
        event.stop()
        self.action_move(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the cursor down."""
        event.stop()
        self.action_move(1)

    def on_click(self, event: events.Click) -> None:
        """Sort by a clicked header, move to a clicked row, choose on a double click."""
        if event.y == 0:
            self._sort_at(event.x)
            return
        index = self._top + event.y - 1
        if index < len(self._rows_shown):
            self._go(index)
            if event.chain >= 2:
                self.action_choose()

    def _sort_at(self, x: int) -> None:
        start = 2
        for index, cells in self._visible():
            if start <= x < start + cells + 2:
                turned = self._sort is not None and self._sort[0] == index and not self._sort[1]
                self._sort = (index, turned)
                self._arrange()
                return
            start += cells + 2

    def render_line(self, y: int) -> Strip:
        """Paint the header or one row."""
        cells = self.content_size.width
        visible = self._visible()
        index = self._top + y - 1
        if y == 0:
            line = pad(self._header(visible), cells)
        elif index < len(self._rows_shown):
            line = self._row(index, visible, cells)
        else:
            said = "nothing matches the filter" if self._all else self.empty
            line = [Span(f"  {said}", "muted")] if y == 1 and not self._rows_shown else []
        return to_strip(pad(line, cells), palette_of(self.app)).apply_style(self.rich_style)

    def _header(self, visible: list[tuple[int, int]]) -> Line:
        line: Line = [Span("  ")]
        for index, cells in visible:
            column = self._columns[index]
            arrow = ""
            if self._sort is not None and self._sort[0] == index:
                arrow = "↓" if self._sort[1] else "↑"
            title = clip(column.title, cells - len(arrow)) + arrow
            gap = "  " if len(line) < len(visible) else ""
            line.append(Span(_aligned(title, cells, column.right) + gap, "accent" if arrow else "faint"))
        return line

    def _row(self, index: int, visible: list[tuple[int, int]], cells: int) -> Line:
        row = self._rows_shown[index]
        on = index == self._cursor
        ground = " on:cursor" if on and self.has_focus else ""
        lead = "▌ " if on else "  "
        line: Line = [Span(lead, ("accent" if self.has_focus else "muted") + ground)]
        for position, (column, room) in enumerate(visible):
            span = row.cells[column]
            text = _aligned(clip(span.text, room), room, self._columns[column].right)
            # A cell with a ground of its own keeps it under the cursor.
            line.append(Span(text, span.style if "on:" in span.style else span.style + ground))
            line.append(Span("  " if position + 1 < len(visible) else "", ground.strip()))
        bar = thumb(index - self._top, self._height, len(self._rows_shown), self._top)
        return [*pad(line, cells - 1, ground.strip()), bar]

    def watch_has_focus(self, value: bool) -> None:
        """Repaint the cursor, which shows the focus."""
        super().watch_has_focus(value)
        self.refresh()

    def render(self) -> Any:
        """Return nothing: `render_line` paints."""
        return ""


def _aligned(text: str, cells: int, right: bool) -> str:
    missing = max(cells - cell_len(text), 0)
    return " " * missing + text if right else text + " " * missing
