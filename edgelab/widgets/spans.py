"""Lines as lists of styled spans: what pure layout functions return and widgets paint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from edgelab.visible_text import visible


class _SpanFields(NamedTuple):
    text: str
    style: str = ""
    action: str = ""


class Span(_SpanFields):
    """A piece of text; `style` names palette colours and modifiers, `action` is run on a click.

    The text is made visible here, so that nothing which comes from a candidate, a task file or an exception can
    reach the terminal as a control sequence, whatever screen shows it.
    """

    __slots__ = ()

    def __new__(cls, text: str, style: str = "", action: str = "") -> Span:
        """Return the span with its text made visible."""
        return super().__new__(cls, visible(text), style, action)


Line = list[Span]


def width(line: Iterable[Span]) -> int:
    """Return the cells a line takes."""
    return sum(cell_len(span.text) for span in line)


def clip(text: str, cells: int) -> str:
    """Return `text` shortened to `cells` with an ellipsis where it was cut."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""


def fit(line: Iterable[Span], cells: int) -> Line:
    """Return the line cut to `cells`; what is cut ends in an ellipsis."""
    fitted: Line = []
    left = cells
    for span in line:
        used = cell_len(span.text)
        if used > left:
            if cut := clip(span.text, left):
                fitted.append(span._replace(text=cut))
            break
        fitted.append(span)
        left -= used
    return fitted


def pad(line: Sequence[Span], cells: int, style: str = "") -> Line:
    """Return the line cut or filled with spaces to exactly `cells`."""
    fitted = fit(line, cells)
    missing = cells - width(fitted)
    return [*fitted, Span(" " * missing, style)] if missing > 0 else fitted


def spread(left: Sequence[Span], right: Sequence[Span], cells: int) -> Line:
    """Return `left` and `right` at the two ends of a line; `left` gives way where both do not fit."""
    room = cells - width(right)
    if room < min(width(left), 12):
        return fit(left, cells)
    return [*pad(left, room), *right]


def beside(left: Sequence[Line], right: Sequence[Line], left_cells: int, gap: int = 2) -> list[Line]:
    """Return two blocks of lines side by side."""
    height = max(len(left), len(right))
    blank: Line = []
    rows = []
    for index in range(height):
        first = left[index] if index < len(left) else blank
        second = right[index] if index < len(right) else blank
        rows.append([*pad(first, left_cells), Span(" " * gap), *second])
    return rows


def rule(title: str, cells: int, note: str = "") -> Line:
    """Return a section heading: the title, a thin rule, and a note at the right."""
    left = [Span(title, "title bold"), Span(" ")]
    right = [Span(f" {note}", "muted")] if note else []
    # A note too long for the line may not push the title out.
    right = right if width(left) + width(right) + 2 <= cells else []
    dashes = cells - width(left) - width(right)
    return fit([*left, Span("─" * max(dashes, 0), "line"), *right], cells)


def wrap(text: str, cells: int) -> list[str]:
    """Return `text` broken at spaces into lines of at most `cells`; words longer than that are split."""
    import textwrap

    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        shown = visible(paragraph)
        lines += textwrap.wrap(shown, max(cells, 8), break_on_hyphens=False, drop_whitespace=True) or [""]
    return lines


def text_of(lines: Iterable[Iterable[Span]]) -> str:
    """Return the bare text of lines, for copying and for tests."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)
