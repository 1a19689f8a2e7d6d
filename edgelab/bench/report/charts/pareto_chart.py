"""Latency against peak memory on one device: a mark for each program, a step line for each task's front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from edgelab.bench.metrics.pareto import ParetoPoint
from edgelab.bench.report.charts import svg
from edgelab.bench.report.charts.axes import Frame
from edgelab.bench.report.charts.scales import LogScale, log_range
from edgelab.quantities import latency, size

_WIDTH, _HEIGHT, _NAMED_TASKS = 720, 340, svg.SERIES
_LEAST_BYTES = 1024.0
"""Left end of the memory axis at most: a program that takes no memory of its own is drawn on the edge."""


def pareto_chart(points: Sequence[ParetoPoint], label: str) -> Markup:
    """Return the chart; full marks are on their task's front, hollow ones are dominated."""
    tasks = list(dict.fromkeys(point.task for point in points))
    named = len(tasks) <= _NAMED_TASKS
    frame = Frame(70, 30, _WIDTH - (190 if named else 12), _HEIGHT)
    sizes = [max(point.peak_memory_bytes, _LEAST_BYTES) for point in points]
    x = LogScale(*log_range(sizes, least=8.0), frame.left, frame.right)
    y = LogScale(*log_range([point.latency_s for point in points]), frame.bottom, frame.top)
    parts = [
        *frame.x_axis(x.binary_ticks(), x.at, _tick_size, "peak memory above the idle process, log scale"),
        *frame.y_axis(y.ticks(), y.at, latency, "latency of one call, log scale"),
    ]
    for number, task in enumerate(tasks):
        of_task = [point for point in points if point.task == task]
        parts += _task(of_task, number, x, y)
        if named:
            parts += _legend(task, number, frame)
    return svg.drawing(_WIDTH, _HEIGHT + 44, label, parts)


def _task(points: Sequence[ParetoPoint], number: int, x: LogScale, y: LogScale) -> Iterator[Markup]:
    colour = f"s{number % svg.SERIES}"
    front = [(x.at(point.peak_memory_bytes), y.at(point.latency_s)) for point in points if point.on_front]
    # Points come fastest first: along the front memory falls while latency grows.
    steps = front[:1]
    for here in front[1:]:
        steps += [(steps[-1][0], here[1]), here]
    if len(steps) > 1:
        yield svg.polyline(steps, f"line {colour}", svg.DASHES[number % len(svg.DASHES)])
    for point in points:
        said = f"{point.task} ({point.method}, run {point.run}): "
        said += f"{latency(point.latency_s)}, {size(point.peak_memory_bytes)}"
        kind = "fill" if point.on_front else "line"
        place = {"cx": x.at(point.peak_memory_bytes), "cy": y.at(point.latency_s)}
        yield svg.element("circle", svg.title(said), **place, r=5, class_=f"{kind} {colour}")


def _legend(task: str, number: int, frame: Frame) -> Iterator[Markup]:
    left, top = frame.right + 18, frame.top + 8 + 20 * number
    yield svg.element("circle", cx=left, cy=top, r=5, class_=f"fill s{number % svg.SERIES}")
    yield svg.text(svg.shortened(task, 24), left + 12, top + 4, "small")


def _tick_size(count_bytes: float) -> str:
    return size(count_bytes).replace(".0 ", " ")
