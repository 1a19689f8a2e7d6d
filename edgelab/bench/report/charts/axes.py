"""The frame of a chart: axes, grid and ticks with units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
from markupsafe import Markup

from edgelab.bench.report.charts import svg


class Frame(msgspec.Struct, frozen=True):
    """The plot's rectangle inside its drawing, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def x_axis(
        self, ticks: Iterable[float], at: Callable[[float], float], name: Callable[[float], str], title: str
    ) -> Iterator[Markup]:
        """Yield grid lines, tick labels and the title of the horizontal axis."""
        for value in ticks:
            x = at(value)
            yield svg.line(x, self.top, x, self.bottom, "grid")
            yield svg.text(name(value), x, self.bottom + 16, "tick", text_anchor="middle")
        yield svg.line(self.left, self.bottom, self.right, self.bottom, "axis")
        middle = (self.left + self.right) / 2
        yield svg.text(title, middle, self.bottom + 34, "axis-title", text_anchor="middle")

    def y_axis(
        self, ticks: Iterable[float], at: Callable[[float], float], name: Callable[[float], str], title: str
    ) -> Iterator[Markup]:
        """Yield grid lines, tick labels and, above the axis, the title of the vertical axis."""
        for value in ticks:
            y = at(value)
            yield svg.line(self.left, y, self.right, y, "grid")
            yield svg.text(name(value), self.left - 6, y + 4, "tick", text_anchor="end")
        yield svg.line(self.left, self.top, self.left, self.bottom, "axis")
        yield svg.text(title, 0, self.top - 10, "axis-title")
