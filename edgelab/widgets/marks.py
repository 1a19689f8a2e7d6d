"""Small drawings made of characters: sparklines, progress bars, the thumb of a scroll bar."""

from __future__ import annotations

from collections.abc import Sequence

from edgelab.widgets.spans import Line, Span

_BLOCKS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float | None], cells: int, low: float, high: float) -> str:
    """Return the newest `cells` values as blocks between `low` and `high`; unknown ones are blank."""
    span = high - low
    drawn = []
    for value in values[-cells:] if cells > 0 else ():
        if value is None:
            drawn.append(" ")
            continue
        level = 0.0 if span <= 0 else (min(max(value, low), high) - low) / span
        drawn.append(_BLOCKS[min(int(level * len(_BLOCKS)), len(_BLOCKS) - 1)])
    return "".join(drawn).rjust(cells)


def bar(done_share: float, cells: int, style: str = "accent") -> Line:
    """Return a thin bar of `cells` filled to `done_share` (0 to 1)."""
    filled = round(min(max(done_share, 0.0), 1.0) * cells)
    return [Span("━" * filled, style), Span("─" * (cells - filled), "line")]


def thumb(row: int, rows: int, total: int, top: int) -> Span:
    """Return the scroll-bar cell of `row` for a window of `rows` at `top` over `total` lines."""
    if total <= rows or rows <= 0:
        return Span(" ")
    length = max(1, round(rows * rows / total))
    last_top = total - rows
    start = round(top / last_top * (rows - length)) if last_top else 0
    return Span("┃", "muted") if start <= row < start + length else Span("│", "line")
