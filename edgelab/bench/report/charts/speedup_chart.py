"""The speed-up of each task with its 95 % interval, fastest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from markupsafe import Markup

from edgelab.bench.metrics.instance import Instance
from edgelab.bench.report.charts import svg
from edgelab.bench.report.charts.axes import Frame
from edgelab.bench.report.charts.scales import LogScale, log_range
from edgelab.quantities import interval, measured_speedup

_WIDTH, _ROW, _NAMES, _VALUES = 880, 20, 270, 210


def speedup_chart(instances: Iterable[Instance], label: str) -> Markup:
    """Return the chart of the instances with a timing; a hollow mark is one that does not count."""
    timed = sorted(
        ((one.speedup, one) for one in instances if one.timed and one.speedup is not None),
        key=lambda pair: (-pair[0], pair[1].task),
    )
    frame = Frame(_NAMES, 12, _WIDTH - _VALUES, 12 + _ROW * len(timed) + 6)
    bounds = [bound for _, one in timed for bound in (one.ci95 or ())]
    spread = log_range((*(value for value, _ in timed), *bounds), include=(1.0,), least=2.0)
    x = LogScale(*spread, frame.left, frame.right)
    parts = [
        *frame.x_axis(x.ticks(), x.at, lambda value: f"{value:g}×", "speed-up over the baseline, log scale"),
        svg.line(x.at(1.0), frame.top, x.at(1.0), frame.bottom, "even"),
    ]
    for number, (value, one) in enumerate(timed):
        parts += _row(value, one, frame.top + _ROW * (number + 0.5) + 3, x, frame)
    return svg.drawing(_WIDTH, frame.bottom + 44, label, parts)


def _row(value: float, one: Instance, y: float, x: LogScale, frame: Frame) -> Iterator[Markup]:
    said = f"{measured_speedup(value, one.ci95)} {interval(one.ci95)}"
    note = "" if one.counts else f" {one.quality}"
    marks = [svg.title(f"{one.task}: {said}{note}")]
    if one.ci95 is not None:
        low, high = map(x.at, one.ci95)
        marks += [svg.line(low, y, high, y, "whisker")]
        marks += [svg.line(end, y - 4, end, y + 4, "whisker") for end in (low, high)]
    marks.append(svg.element("circle", cx=x.at(value), cy=y, r=4, class_="dot" if one.counts else "hollow"))
    yield svg.text(svg.shortened(one.task, 38), frame.left - 8, y + 4, text_anchor="end")
    yield svg.element("g", *marks)
    yield svg.text(f"{said}{note}", frame.right + 10, y + 4, "value")
