from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab import quantities as fmt
from edgelab.widgets.braille import Canvas
from edgelab.widgets.plot import Curve, Plot, columns, nice_limits, plot_lines, widened
from edgelab.widgets.spans import text_of, width

LATENCIES = st.lists(st.floats(1e-7, 1.0), min_size=1, max_size=300)


def test_a_dot_sets_its_bit() -> None:
    canvas = Canvas(2, 1)
    canvas.dot(0, 0, "a")
    canvas.dot(3, 3, "b")
    canvas.dot(9, 9, "outside")
    assert canvas.cell(0, 0) == ("⠁", "a")
    assert canvas.cell(0, 1) == ("⢀", "b")


def test_a_steep_line_stays_joined() -> None:
    canvas = Canvas(1, 2)
    canvas.polyline([0, 7], "a")
    dots = sum(bin(ord(canvas.cell(row, 0)[0]) - 0x2800).count("1") for row in range(2))
    assert dots >= 8


def test_a_gap_is_not_bridged() -> None:
    canvas = Canvas(2, 2)
    canvas.polyline([0, None, None, 7], "a")
    assert canvas.cell(1, 0) == (" ", "")


def test_few_values_are_spread_out_and_many_become_medians() -> None:
    assert columns([1.0, 2.0], 4) == [1.0, 1.0, 2.0, 2.0]
    assert columns([1.0, 9.0, 2.0, 5.0, 5.0, 90.0], 2) == [2.0, 5.0]
    assert columns([], 2) == [None, None]
    assert columns([None, None, 3.0, 4.0], 2) == [None, 3.5]


@given(LATENCIES, st.integers(1, 120))
def test_columns_stay_within_the_values(values: list[float], across: int) -> None:
    shown = columns(values, across)
    assert len(shown) == across
    assert all(value is not None and min(values) <= value <= max(values) for value in shown)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_nice_limits_hold_their_values_and_are_not_far_off(low: float, span: float) -> None:
    high = low + span
    bottom, top = nice_limits(low, high)
    room = max(high - low, abs(low) * 0.04, 1e-9)
    assert bottom <= low + room * 1e-6
    assert top >= high - room * 1e-6
    assert math.isfinite(bottom)
    assert top > bottom


@given(LATENCIES, st.integers(5, 120), st.integers(1, 30))
def test_a_plot_fits_its_panel(values: list[float], cells: int, rows: int) -> None:
    plot = Plot("Latency", (Curve(values, "candidate", "C"),), fmt.latency, level=values[0], reference=1.0)
    lines = plot_lines(plot, cells, rows)
    assert len(lines) <= rows
    assert all(width(line) <= cells for line in lines)


def test_a_plot_without_values_says_so() -> None:
    plot = Plot("Latency", (Curve((), "candidate"),), fmt.latency, empty="nothing timed yet")
    assert "nothing timed yet" in text_of(plot_lines(plot, 60, 8))


def test_curves_are_told_apart_without_colour() -> None:
    plot = Plot(
        "Latency", (Curve([1e-3] * 9, "candidate", "C"), Curve([2e-3] * 9, "baseline", "B")), fmt.latency
    )
    shown = text_of(plot_lines(plot, 60, 8)).splitlines()
    marks = [line[-1] for line in shown if line[-1:] in ("B", "C")]
    assert marks == ["B", "C"]


def test_the_band_the_median_and_one_are_drawn() -> None:
    plot = Plot(
        "Speed-up",
        (Curve([1.1, 1.5] * 5, "info"),),
        fmt.speedup,
        band=(1.29, 1.31),
        level=1.3,
        reference=1.0,
    )
    lines = plot_lines(plot, 60, 14)
    assert any("on:band" in span.style for line in lines for span in line)
    text = text_of(lines)
    assert "1.30×" in text
    assert "┄" in text
    assert "1.00×" in text


def test_an_outlier_does_not_flatten_the_rest() -> None:
    values = [1e-3 + 1e-6 * (index % 7) for index in range(100)]
    values[60] = values[3] = values[4] = 1.0
    text = text_of(plot_lines(Plot("Latency", (Curve(values, "candidate"),), fmt.latency), 80, 12))
    assert "1.00 s" not in text
    assert "1.00 ms" in text or "1.01 ms" in text


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_an_unbounded_interval_is_not_drawn(bad: float) -> None:
    plot = Plot("Speed-up", (Curve([1.2, 1.3], "info"),), fmt.speedup, band=(bad, bad), level=1.25)
    assert "1.25×" in text_of(plot_lines(plot, 60, 8))


@given(LATENCIES, st.floats(0, 0.3))
def test_the_ends_of_an_axis_never_read_the_same(values: list[float], share: float) -> None:
    plot = Plot("Latency", (Curve(values, "candidate"),), fmt.latency, least_share=share)
    lines = text_of(plot_lines(plot, 60, 8)).splitlines()
    assert lines[1][:9].strip() != lines[-1][:9].strip()


def test_noise_of_a_steady_value_is_drawn_as_a_steady_line() -> None:
    steady = [3.47e9 + (index % 3) * 1e5 for index in range(60)]
    plot = Plot("Clock", (Curve(steady, "accent"),), lambda value: f"{value / 1e9:.2f}", least_share=0.2)
    drawn = [row for row in text_of(plot_lines(plot, 60, 14)).splitlines()[1:] if row[10:].strip()]
    assert len(drawn) == 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1.0, 1.0, (0.9, 1.1)), (0.0, 1.0, (0.0, 1.0)), (-1.0, -1.0, (-1.1, -0.9)), (0.0, 0.0, (0.0, 0.0))],
)
def test_a_range_is_widened_around_its_middle(low: float, high: float, expected: tuple[float, float]) -> None:
    assert widened(low, high, 0.2) == pytest.approx(expected)


def test_zero_has_the_unit_of_its_axis() -> None:
    plot = Plot("Latency", (Curve([0.001, 0.149], "accent"),), fmt.latency, limits=(0.0, 0.15))
    text = text_of(plot_lines(plot, 60, 8))
    assert "150.0 ms" in text
    assert "    0 ms" in text
    assert "ns" not in text


def test_one_label_stands_at_one_height_only() -> None:
    values = [1.0, 1.004]
    plot = Plot("x", (Curve(values, "accent"),), fmt.speedup, level=1.004, reference=1.0, limits=(0.98, 1.02))
    text = text_of(plot_lines(plot, 60, 14))
    assert text.count("1.00×") == 1
    assert "┄" in text
