"""Plots of measured series: one point a dot column (median of what falls there), rounded axis limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from edgelab.widgets.braille import Canvas
from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.spans import Line, Span, fit, pad, rule

_GUTTER = 10


class Curve(NamedTuple):
    """One series; `mark` is the letter at its right end, so that colour is not the only signal."""

    values: Sequence[float | None]
    style: str
    mark: str = ""


class Plot(NamedTuple):
    """What to draw. `band` is shaded, `level` a solid line, `reference` a dotted one; `limits` fix the axis.

    Without `limits` the axis follows the values; it then spans at least `least_share` of their size, so that
    a steady value is drawn as a steady line.
    """

    title: str
    curves: tuple[Curve, ...]
    label: Callable[[float], str]
    note: str = ""
    empty: str = "no values yet"
    band: tuple[float, float] | None = None
    level: float | None = None
    reference: float | None = None
    limits: tuple[float, float] | None = None
    least_share: float = 0.0


def columns(values: Sequence[float | None], across: int) -> list[float | None]:
    """Return one value per dot column: the medians of equal shares, or each value spread out.

    A None among the values is a gap.
    """
    count = len(values)
    if count == 0 or across <= 0:
        return [None] * across
    if count <= across:
        spread: list[float | None] = [None] * across
        for column in range(across):
            spread[column] = values[min(column * count // across, count - 1)]
        return spread
    edges = [index * count // across for index in range(across + 1)]
    return [_middle(values[start:end]) for start, end in pairwise(edges)]


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def nice_limits(low: float, high: float, ticks: int = 4) -> tuple[float, float]:
    """Return limits around `low`..`high` rounded to 1, 2 or 5 times a power of ten, so axes stay calm."""
    # Below this a float has too few digits left for ticks.
    if high - low <= max(abs(low), abs(high)) * 1e-9 or high - low < 1e-200:
        room = max(abs(low), abs(high)) * 0.02
        room = room if room > 1e-200 else 1.0
        low, high = low - room, high + room
    rough = (high - low) / max(ticks, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _bulk(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of the values without far outliers, which would flatten everything else.

    Far is more than six robust standard deviations (1.4826 MAD) from the median; the curve leaves the plot there.
    """
    middle = median(values)
    far = 6 * 1.4826 * median(abs(value - middle) for value in values)
    kept = [value for value in values if abs(value - middle) <= far] if far > 0 else values
    return min(kept), max(kept)


def _limits(plot: Plot, drawn: list[list[float | None]]) -> tuple[float, float]:
    if plot.limits is not None:
        return plot.limits
    bounds = [_bulk([value for value in column if value is not None]) for column in drawn]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    for extra in (*(plot.band or ()), plot.level):
        if extra is not None and math.isfinite(extra):
            low, high = min(low, extra), max(high, extra)
    low, high = widened(low, high, plot.least_share)
    if plot.reference is not None and low - (high - low) <= plot.reference <= high + (high - low):
        low, high = min(low, plot.reference), max(high, plot.reference)
    return _told_apart(*nice_limits(low, high), plot.label)


def widened(low: float, high: float, least_share: float) -> tuple[float, float]:
    """Return the range, widened around its middle to `least_share` of its size; it does not cross zero."""
    lack = max(abs(low), abs(high)) * least_share - (high - low)
    if lack <= 0:
        return low, high
    bottom = low - lack / 2
    return (max(bottom, 0.0) if low >= 0 else bottom), high + lack / 2


def _told_apart(low: float, high: float, label: Callable[[float], str]) -> tuple[float, float]:
    """Return limits whose labels differ: an axis with the same number at both ends says nothing."""
    for _ in range(20):
        if label(low) != label(high):
            break
        low, high = nice_limits(low - (high - low) / 2, high + (high - low) / 2)
    return low, high


def plot_lines(plot: Plot, cells: int, rows: int) -> list[Line]:
    """Return the plot as `rows` lines of `cells`: a heading, then the axis labels and the curves."""
    heading = rule(plot.title, cells, plot.note)
    across, down = cells - _GUTTER - 2, rows - 1
    curves = [curve for curve in plot.curves if any(value is not None for value in curve.values)]
    if not curves or across < 8 or down < 2:
        centred = [Span(plot.empty.center(cells).rstrip(), "faint")]
        return [heading, *([[]] * ((down - 1) // 2)), fit(centred, cells)][:rows]
    canvas = Canvas(across, down)
    drawn = [columns(curve.values, canvas.dots_across) for curve in curves]
    low, high = _limits(plot, drawn)

    def height(value: float) -> int:
        return round((high - value) / (high - low) * (canvas.dots_down - 1))

    # The first curve is the one that matters, so it is drawn last, on top.
    for curve, column in reversed(list(zip(curves, drawn, strict=True))):
        canvas.polyline([None if value is None else height(value) for value in column], curve.style)
    marks = _marks(curves, drawn, height, down)
    levels = _levels(plot, height, down)
    labels = _axis_labels(plot, down, (low, high), levels)
    return [heading, *(_row(canvas, row, labels, levels, marks) for row in range(down))]


def _marks(
    curves: list[Curve], drawn: list[list[float | None]], height: Callable[[float], int], down: int
) -> dict[int, Span]:
    marks: dict[int, Span] = {}
    for curve, column in zip(curves, drawn, strict=True):
        last = next((value for value in reversed(column) if value is not None), None)
        if last is None or not curve.mark:
            continue
        row = min(max(height(last) // 4, 0), down - 1)
        while row in marks and row + 1 < down:
            row += 1
        marks[row] = Span(f" {curve.mark}", f"{curve.style} bold")
    return marks


class _Levels(NamedTuple):
    band: range
    level: int | None
    reference: int | None


def _levels(plot: Plot, height: Callable[[float], int], down: int) -> _Levels:
    def row(value: float) -> int:
        return min(max(height(value) // 4, 0), down - 1)

    band = range(0)
    if plot.band is not None and all(map(math.isfinite, plot.band)):
        band = range(row(plot.band[1]), row(plot.band[0]) + 1)
    level = None if plot.level is None else row(plot.level)
    return _Levels(band, level, None if plot.reference is None else _inside(height(plot.reference), down))


def _inside(dot: int, down: int) -> int | None:
    return dot // 4 if 0 <= dot < down * 4 else None


def _row(
    canvas: Canvas,
    row: int,
    labels: Mapping[int, Span],
    levels: _Levels,
    marks: dict[int, Span],
) -> Line:
    label = labels.get(row, Span(""))
    line: Line = [Span(label.text.rjust(_GUTTER - 1) + " ", label.style)]
    ground = " on:band" if row in levels.band else ""
    run_text, run_style = "", ""
    for cell in range(canvas.cells):
        text, style = canvas.cell(row, cell)
        if text == " ":
            text, style = _ground(row, levels)
        if style + ground != run_style and run_text:
            line.append(Span(run_text, run_style))
            run_text = ""
        run_text, run_style = run_text + text, style + ground
    line.append(Span(run_text, run_style))
    return pad([*line, marks.get(row, Span("  "))], canvas.cells + _GUTTER + 2)


def _ground(row: int, levels: _Levels) -> tuple[str, str]:
    if row == levels.level:
        return "─", "muted"
    if row == levels.reference:
        return "┄", "line"
    return " ", ""


def _axis_labels(plot: Plot, rows: int, limits: tuple[float, float], levels: _Levels) -> dict[int, Span]:
    """Return the labels by row, those that matter most first: no two rows have the same one."""
    low, high = limits
    wanted = [(levels.level, plot.level, "text"), (0, high, "faint"), (rows - 1, low, "faint")]
    wanted.append((levels.reference, plot.reference, "faint"))
    if rows >= 9 and levels.level is None:
        wanted.append((rows // 2, (low + high) / 2, "faint"))
    labels: dict[int, Span] = {}
    for row, value, style in wanted:
        if row is None or value is None or row in labels:
            continue
        text = _label(plot, value, high)
        if all(text != label.text for label in labels.values()):
            labels[row] = Span(text, style)
    return labels


def _label(plot: Plot, value: float, high: float) -> str:
    """Return the label of a value; zero has the unit of the axis, not the smallest there is."""
    _, unit_sign, unit = plot.label(high).partition(" ")
    return f"0 {unit}" if value == 0 and unit_sign else plot.label(value)


class SeriesPlot(LinesPanel):
    """A panel that shows one `Plot`."""

    def __init__(self, plot: Plot, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._plot = plot

    def show(self, plot: Plot) -> None:
        """Show another plot; nothing is computed if it is equal to the present one."""
        if plot != self._plot:
            self._plot = plot
            self.refresh_lines()

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return the plot's lines."""
        return plot_lines(self._plot, cells, rows)
