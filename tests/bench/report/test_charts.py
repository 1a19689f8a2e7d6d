"""Charts: well-formed, inside their frame, escaped, and true to their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from edgelab.bench.metrics.failures import failure_rows
from edgelab.bench.metrics.pareto import pareto_points
from edgelab.bench.metrics.shares import fast_curve
from edgelab.bench.report.charts import svg
from edgelab.bench.report.charts.failure_chart import failure_chart
from edgelab.bench.report.charts.fast_chart import fast_chart
from edgelab.bench.report.charts.pareto_chart import pareto_chart
from edgelab.bench.report.charts.scales import LinearScale, LogScale, log_range, share_ceiling
from edgelab.bench.report.charts.speedup_chart import speedup_chart
from edgelab.bench.report.view import FastCurve
from tests.support.instances import a_failure, an_instance, instances

HOSTILE = "</svg><script>alert(1)</script>\x1b\"'&"
SVG = "{http://www.w3.org/2000/svg}"


def curve_of(selection) -> FastCurve:
    return FastCurve(
        simulated=False, device="orin", backend="cuda", method="candidate", baseline_kind="plain",
        judged=len(selection), points=fast_curve(selection),
    )  # fmt: skip


def texts(drawing: Markup) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def positions(drawing: Markup) -> Iterator[tuple[float, float]]:
    for one in ElementTree.fromstring(drawing).iter():
        get = one.attrib.get
        for x, y in (("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")):
            if x in one.attrib:
                yield float(get(x, "")), float(get(y, ""))
        for pair in get("points", "").split():
            left, _, top = pair.partition(",")
            yield float(left), float(top)


def assert_inside(drawing: Markup) -> None:
    root = ElementTree.fromstring(drawing)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for x, y in positions(drawing):
        assert 0 <= x <= width
        assert 0 <= y <= height


@given(st.lists(instances(), min_size=1, max_size=25))
def test_every_chart_stays_in_its_frame(selection):
    judged = [one for one in selection if one.judged]
    if judged:
        assert_inside(fast_chart([curve_of(judged)]))
    assert_inside(speedup_chart(selection, "speed-ups"))
    assert_inside(failure_chart(failure_rows(selection)))
    assert_inside(pareto_chart(pareto_points(selection), "memory"))


@pytest.mark.parametrize(
    "drawing",
    [
        pytest.param(lambda: speedup_chart([an_instance(HOSTILE)], HOSTILE), id="speedup"),
        pytest.param(lambda: pareto_chart(pareto_points([an_instance(HOSTILE)]), HOSTILE), id="pareto"),
        pytest.param(
            lambda: failure_chart(failure_rows([a_failure(failure_class=HOSTILE, backend=HOSTILE)])),
            id="failures",
        ),
        pytest.param(lambda: fast_chart([curve_of([an_instance()])]), id="fast"),
    ],
)
def test_texts_of_strangers_stay_texts(drawing):
    written = drawing()
    assert "<script" not in written
    assert "\x1b" not in written
    root = ElementTree.fromstring(written)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {
        "svg", "title", "g", "line", "polyline", "rect", "circle", "text",
    }  # fmt: skip


def test_speedups_are_sorted_labelled_and_marked():
    drawing = speedup_chart(
        [
            an_instance("slow", speedup=0.5, ci95=(0.4, 0.6)),
            an_instance("quick", quality="paired"),
            a_failure("no"),
        ],
        "speed-ups",
    )
    said = texts(drawing)
    assert said.index("quick") < said.index("slow")
    assert "no" not in said
    assert "1.50× [1.49, 1.51] paired" in said
    assert "0.50× [0.40, 0.60]" in said
    assert drawing.count('class="hollow"') == drawing.count('class="dot"') == 1
    xs = {
        one.attrib["class"]: float(one.attrib["cx"])
        for one in ElementTree.fromstring(drawing).iter(f"{SVG}circle")
    }
    assert xs["dot"] < xs["hollow"]


def test_the_fast_line_is_at_its_shares():
    drawing = fast_chart(
        [curve_of([an_instance(speedup=2.0), an_instance(speedup=0.5), a_failure(), a_failure()])]
    )
    (line, _legend) = ElementTree.fromstring(drawing).iter(f"{SVG}polyline")
    heights = [float(pair.partition(",")[2]) for pair in line.attrib["points"].split()]
    # The axis ends at 50 %: from its top (Fast@0 = 50 %) over the middle (25 %) to its foot.
    assert heights == [30, 30, 165, 165, 300, 300]
    assert "50 %" in texts(drawing)
    assert "orin, cuda: candidate over plain, n = 4" in texts(drawing)


def test_failures_have_counts_names_and_totals():
    rows = failure_rows(
        [a_failure("a", "memory"), a_failure("b", "memory"), a_failure("c", "hack"), an_instance("d")]
    )
    said = texts(failure_chart(rows))
    assert {"cuda L1", "2", "1", "memory", "hack", "3 of 4"} <= set(said)


def test_a_front_is_joined_and_what_is_dominated_is_hollow():
    points = pareto_points(
        [
            an_instance(run="a", latency_s=1e-4, peak_memory_bytes=4 << 20),
            an_instance(run="b", latency_s=3e-4, peak_memory_bytes=0),
            an_instance(run="c", latency_s=4e-4, peak_memory_bytes=5 << 20),
        ]
    )
    drawing = pareto_chart(points, "memory")
    assert drawing.count("<polyline") == 1
    assert drawing.count('class="line s0"') == 2
    assert any("MiB" in one or "KiB" in one for one in texts(drawing))
    assert any("µs" in one for one in texts(drawing))


@given(st.floats(1e-9, 1e9), st.floats(1.5, 1e9))
def test_ticks_are_few_round_and_inside(low, ratio):
    scale = LogScale(low, low * ratio, 0, 100)
    ticks = scale.ticks()
    assert len(ticks) <= 7
    assert ticks == sorted(set(ticks))
    assert all(-1e-6 <= scale.at(tick) <= 100 + 1e-6 for tick in ticks)
    if ratio >= 10:
        assert ticks


@given(st.lists(st.floats(0, 1e12), max_size=8))
def test_a_range_holds_its_values_and_is_never_a_point(values):
    low, high = log_range(values)
    assert 0 < low < high
    assert high / low >= 4 * (1 - 1e-9)
    assert all(low <= value <= high for value in values if value > 0)


def test_scales_put_what_is_outside_on_the_edge():
    assert LinearScale(0, 2, 10, 20).at(1) == 15
    assert LinearScale(0, 2, 20, 10).at(9) == 10
    assert LogScale(1, 100, 0, 10).at(10) == pytest.approx(5)
    assert LogScale(1, 100, 0, 10).at(0) == 0
    assert LogScale(1000, 70_000, 0, 1).binary_ticks(3) == [4096, 32768]


@given(st.floats(0, 1))
def test_an_axis_of_shares_has_room(share):
    assert share <= share_ceiling(share) <= 1


def test_numbers_are_written_short_and_none_is_left_out():
    assert svg.element("a", x=1.0, y=0.125, class_=None) == '<a x="1" y="0.12"></a>'
    assert svg.element("a", stroke_width=100.0) == '<a stroke-width="100"></a>'
