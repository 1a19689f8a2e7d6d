"""Failures stacked by class, a bar for each backend and level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from edgelab.bench.metrics.failures import COUNTED_CLASSES, FailureRow, classes_found
from edgelab.bench.report.charts import svg
from edgelab.bench.report.charts.axes import Frame
from edgelab.bench.report.charts.scales import LinearScale
from edgelab.bench.report.tables import level_word

_WIDTH, _ROW, _LEGEND_COLUMNS = 720, 28, 4


def failure_chart(rows: Sequence[FailureRow]) -> Markup:
    """Return the chart; numbers in the bars count instances, classes are named below."""
    names = classes_found(rows)
    frame = Frame(110, 8, _WIDTH - 110, 8 + _ROW * len(rows))
    most = max((row.failed for row in rows), default=0)
    step = max(1, math.ceil(most / 6))
    x = LinearScale(0, max(1, math.ceil(most / step) * step), frame.left, frame.right)
    ticks = [float(value) for value in range(0, int(x.high) + 1, step)]
    parts = [*frame.x_axis(ticks, x.at, lambda value: f"{value:g}", "failed instances")]
    for number, row in enumerate(rows):
        parts += _bar(row, names, frame.top + _ROW * number, x, frame)
    legend = frame.bottom + 58
    for number, name in enumerate(names):
        left = 10 + (number % _LEGEND_COLUMNS) * 176
        top = legend + number // _LEGEND_COLUMNS * 20
        parts.append(svg.element("rect", x=left, y=top - 11, width=14, height=14, class_=_colour(name)))
        parts.append(svg.text(svg.shortened(name, 22), left + 20, top))
    height = legend + math.ceil(len(names) / _LEGEND_COLUMNS) * 20
    return svg.drawing(_WIDTH, height, "Failures by class, backend and level", parts)


def _bar(row: FailureRow, names: Sequence[str], top: float, x: LinearScale, frame: Frame) -> Iterator[Markup]:
    place = f"{row.backend} {level_word(row.level)}"
    yield svg.text(place, frame.left - 8, top + _ROW / 2 + 4, text_anchor="end")
    before = 0
    for name in names:
        count = row.classes.get(name, 0)
        if not count:
            continue
        left, right = x.at(before), x.at(before + count)
        before += count
        box = svg.element(
            "rect", x=left, y=top + 4, width=right - left, height=_ROW - 8, class_=_colour(name)
        )
        parts = [svg.title(f"{place}: {name} {count}"), box]
        if right - left >= 18:
            middle = (left + right) / 2
            parts.append(svg.text(str(count), middle, top + _ROW / 2 + 4, "in-bar", text_anchor="middle"))
        yield svg.element("g", *parts)
    yield svg.text(f"{row.failed} of {row.judged}", x.at(row.failed) + 8, top + _ROW / 2 + 4, "value")


def _colour(name: str) -> str:
    # A class has the same colour in every chart; those that this EdgeLab does not know share one.
    number = COUNTED_CLASSES.index(name) if name in COUNTED_CLASSES else len(COUNTED_CLASSES)
    return f"fill s{number % svg.SERIES}"
