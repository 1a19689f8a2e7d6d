"""Fast@p against p: a step line for each device, backend, method and baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from edgelab.bench.report.charts import svg
from edgelab.bench.report.charts.axes import Frame
from edgelab.bench.report.charts.scales import LinearScale, LogScale, log_range, share_ceiling
from edgelab.bench.report.view import FastCurve

_WIDTH, _HEIGHT, _LEGEND_LINE = 720, 300, 18


def fast_chart(curves: Sequence[FastCurve]) -> Markup:
    """Return the chart; what a line shows at the left edge is Fast@0."""
    frame = Frame(52, 30, _WIDTH - 12, _HEIGHT)
    speedups = [point.p for curve in curves for point in curve.points if point.p > 0]
    x = LogScale(*log_range(speedups, include=(0.5, 2.0)), frame.left, frame.right)
    top = share_ceiling(max((point.share for curve in curves for point in curve.points), default=0.0))
    y = LinearScale(0.0, top, frame.bottom, frame.top)
    parts = [
        *frame.x_axis(x.ticks(9), x.at, lambda p: f"{p:g}×", "p: speed-up over the baseline, log scale"),
        *frame.y_axis(
            [top * part / 5 for part in range(6)],
            y.at,
            lambda share: f"{share * 100:g} %",
            "Fast@p, % of all judged",
        ),
        svg.line(x.at(1.0), frame.top, x.at(1.0), frame.bottom, "even"),
    ]
    for number, curve in enumerate(curves):
        parts += _curve(curve, number, x, y, frame)
    height = _HEIGHT + 48 + _LEGEND_LINE * len(curves)
    return svg.drawing(_WIDTH, height, "Fast@p against p", parts)


def _curve(curve: FastCurve, number: int, x: LogScale, y: LinearScale, frame: Frame) -> Iterator[Markup]:
    colour, dash = f"line s{number % svg.SERIES}", svg.DASHES[number % len(svg.DASHES)]
    points: list[tuple[float, float]] = []
    for point in curve.points:
        here = x.at(point.p)
        if points:
            points.append((here, points[-1][1]))
        points.append((here, y.at(point.share)))
    points.append((frame.right, points[-1][1]))
    name = f"{curve.device}, {curve.backend}: {curve.method} over {curve.baseline_kind}, n = {curve.judged}"
    legend = _HEIGHT + 56 + _LEGEND_LINE * number
    yield svg.element("g", svg.title(name), svg.polyline(points, colour, dash))
    yield svg.polyline([(frame.left, legend - 4), (frame.left + 36, legend - 4)], colour, dash)
    yield svg.text(svg.shortened(name, 90), frame.left + 44, legend)
