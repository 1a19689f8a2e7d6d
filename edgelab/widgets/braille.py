"""A dot canvas of braille characters: two dots a cell across, four down."""

from __future__ import annotations

from collections.abc import Sequence

# Bit of the dot at (x, y) inside a cell, in the order of Unicode's braille patterns.
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


class Canvas:
    """Dots on `cells` x `rows` characters; each cell remembers the style that drew there last."""

    def __init__(self, cells: int, rows: int) -> None:
        self.cells, self.rows = cells, rows
        self.dots_across, self.dots_down = cells * 2, rows * 4
        self._bits = [[0] * cells for _ in range(rows)]
        self._styles = [[""] * cells for _ in range(rows)]

    def dot(self, x: int, y: int, style: str) -> None:
        """Set the dot `x` from the left and `y` from the top; outside the canvas nothing happens."""
        if 0 <= x < self.dots_across and 0 <= y < self.dots_down:
            row, cell = y >> 2, x >> 1
            self._bits[row][cell] |= _BITS[x & 1][y & 3]
            self._styles[row][cell] = style

    def polyline(self, heights: Sequence[int | None], style: str) -> None:
        """Join one height (dots from the top) per dot column; None leaves a gap."""
        previous: int | None = None
        for x, y in enumerate(heights):
            if y is not None:
                self.dot(x, y, style)
                if previous is not None and abs(y - previous) > 1:
                    # The step is drawn half in each of the two columns, so steep curves stay joined.
                    middle = (y + previous) // 2
                    for step in range(min(previous, middle), max(previous, middle) + 1):
                        self.dot(x - 1, step, style)
                    for step in range(min(y, middle), max(y, middle) + 1):
                        self.dot(x, step, style)
            previous = y

    def cell(self, row: int, cell: int) -> tuple[str, str]:
        """Return the character of a cell and its style; a space where nothing was drawn."""
        bits = self._bits[row][cell]
        return (chr(0x2800 + bits), self._styles[row][cell]) if bits else (" ", "")
