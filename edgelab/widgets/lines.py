"""Widgets that paint lines of spans: a fixed panel and a scrolling view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from edgelab.widgets.palette import Palette, palette_of
from edgelab.widgets.spans import Line, Span, width


def to_strip(line: Sequence[Span], palette: Palette) -> Strip:
    """Return the strip that paints a line of spans."""
    return Strip([Segment(span.text, palette.style(span.style, span.action)) for span in line], width(line))


class LinesPanel(Widget):
    """A panel whose lines are computed from its size; repainted only when they changed.

    Subclasses override `lines`. `refresh_lines` recomputes without a layout pass.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._shown: list[Line] | None = None
        self._shown_size = Size(0, 0)

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return what to show in `rows` lines of `cells`."""
        raise NotImplementedError

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines of a panel whose height is automatic."""
        return len(self.lines(width, viewport.height))

    def refresh_lines(self) -> None:
        """Recompute the lines and repaint if they differ from those on the screen."""
        size = self.content_size
        fresh = self.lines(size.width, size.height)
        if fresh != self._shown or size != self._shown_size:
            self._shown, self._shown_size = fresh, size
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        size = self.content_size
        if self._shown is None or size != self._shown_size:
            self._shown, self._shown_size = self.lines(size.width, size.height), size
        if y >= len(self._shown):
            return Strip.blank(size.width, self.rich_style)
        strip = to_strip(self._shown[y], palette_of(self.app)).adjust_cell_length(size.width)
        return strip.apply_style(self.rich_style)

    def render(self) -> str:
        """Return nothing: `render_line` paints."""
        return ""


class LinesView(ScrollView, can_focus=True):
    """A scrolling view of prepared lines, laid out for `cells`; says when it has another size."""

    BINDINGS: ClassVar[list[BindingType]] = [("g", "scroll_home", "Top"), ("G", "scroll_end", "End")]

    class Resized(Message):
        """The view has another size: its lines should be laid out anew."""

        def __init__(self, view: LinesView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> LinesView:
            """The view."""
            return self.view

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lines: list[Line] = []

    @property
    def lines(self) -> list[Line]:
        """The lines on show."""
        return self._lines

    @property
    def cells(self) -> int:
        """The cells of a line, whether or not the scroll bar is on show."""
        return max(self.content_size.width - self.styles.scrollbar_size_vertical, 20)

    def on_resize(self) -> None:
        """Say so."""
        self.post_message(self.Resized(self))

    def set_lines(self, lines: list[Line], *, keep_scroll: bool = False) -> None:
        """Show other lines, from the top unless `keep_scroll`."""
        if lines == self._lines:
            return
        before, self._lines = self._lines, lines
        if keep_scroll and len(lines) == len(before):
            self._refresh_changed(before)
            return
        widest = max((width(line) for line in lines), default=0)
        self.virtual_size = Size(widest, len(lines))
        if not keep_scroll:
            self.scroll_to(0, 0, animate=False)
        self.refresh()

    def _refresh_changed(self, before: list[Line]) -> None:
        """Repaint the lines that differ: over a slow link the others cost more than they tell."""
        widest = max((width(line) for line in self._lines), default=0)
        self.virtual_size = Size(widest, len(self._lines))
        for index, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            if old != new:
                self.refresh_line(index)

    def render_line(self, y: int) -> Strip:
        """Paint one visible line."""
        offset_x, offset_y = self.scroll_offset
        cells = self.scrollable_content_region.width
        index = offset_y + y
        if index >= len(self._lines):
            return Strip.blank(cells, self.rich_style)
        palette = palette_of(self.app)
        strip = to_strip(self._lines[index], palette)
        longer = strip.cell_length > offset_x + cells
        strip = strip.crop_extend(offset_x, offset_x + cells, None)
        if longer:
            more = Strip([Segment("…", palette.style("faint"))], 1)
            strip = Strip.join([strip.crop(0, cells - 1), more])
        return strip.apply_style(self.rich_style)
