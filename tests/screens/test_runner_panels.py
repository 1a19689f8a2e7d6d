from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.screens.run_feed import RunFeed, RunSnapshot
from edgelab.screens.run_words import brief, comparison, ended_words
from edgelab.screens.runner_panels import header_lines, stats_lines, steps_lines
from edgelab.screens.verdict import verdict_lines
from edgelab.widgets.spans import text_of, width
from tests.support import ui_data
from tests.support.ui import FixedSources

STATES = [
    ui_data.running,
    ui_data.finished,
    ui_data.failed,
    ui_data.unstable,
    ui_data.lost,
    ui_data.interrupted,
]


def snapshot_of(run: ui_data.Run) -> RunSnapshot:
    return RunFeed(FixedSources(Path("unused"), [run]), run.record.id).poll()


@pytest.mark.parametrize("make", STATES)
@pytest.mark.parametrize("cells", [37, 78, 158])
def test_panels_fit_their_width(make, cells: int) -> None:  # type: ignore[no-untyped-def]
    snapshot = snapshot_of(make())
    panels = (
        header_lines(snapshot, ui_data.NOW_S, cells),
        steps_lines(snapshot, ui_data.NOW_S, cells),
        stats_lines(snapshot.view, cells),
        verdict_lines(snapshot, cells, 8),
    )
    assert all(width(line) <= cells for lines in panels for line in lines)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (ui_data.finished, ("✓ OK", "1.31×", "[1.302, 1.315]", "faster than the plain baseline")),
        (ui_data.failed, ("✗ FAILED", "numeric", "got 0.73125", "Compare the program")),
        (ui_data.unstable, ("≈ UNSTABLE", "no speed-up is reported", "rCV 14.0 %", "run it again")),
        (ui_data.lost, ("! LOST", "process is gone", "R resumes")),
        (ui_data.interrupted, ("‖ INTERRUPTED", "stopped by the operator", "R resumes")),
        (ui_data.running, ("No verdict yet", "time is under way", "once the quality holds")),
    ],
)
def test_the_verdict_says_what_happened_and_what_to_do(make, words) -> None:  # type: ignore[no-untyped-def]
    text = text_of(verdict_lines(snapshot_of(make()), 118, 12))
    for word in words:
        assert word in text


def test_a_verdict_too_long_for_its_panel_says_where_the_rest_is() -> None:
    lines = verdict_lines(snapshot_of(ui_data.failed()), 60, 4)
    assert len(lines) == 4
    assert "y copies all of it" in text_of(lines)


def test_a_dead_run_shows_no_running_step_and_a_clock_that_stands() -> None:
    snapshot = snapshot_of(ui_data.lost())
    early = text_of(steps_lines(snapshot, ui_data.NOW_S, 60)) + text_of(
        header_lines(snapshot, ui_data.NOW_S, 90)
    )
    later = text_of(steps_lines(snapshot, ui_data.NOW_S + 99, 60)) + text_of(
        header_lines(snapshot, ui_data.NOW_S + 99, 90)
    )
    assert early == later
    assert "running" not in early
    assert "cut off" in early
    assert "lost" in early


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "faster than the plain baseline"),
        ({"speedup": 0.9, "speedup_ci95": (0.89, 0.91)}, "slower than the plain baseline"),
        ({"speedup": 1.001, "speedup_ci95": (0.99, 1.01)}, "no difference"),
        ({"speedup": None, "speedup_ci95": None}, "no speed-up"),
    ],
)
def test_the_comparison_says_no_more_than_the_interval(changes: dict[str, object], says: str) -> None:
    assert says in comparison(ui_data.result("r", **changes))


def test_a_speedup_of_an_unstable_run_is_no_headline() -> None:
    snapshot = snapshot_of(ui_data.unstable())
    assert "1.29" not in text_of([brief(snapshot)])
    assert "1.29" not in ended_words(snapshot)


def test_unknown_readings_are_words_not_zeroes() -> None:
    run = ui_data.running()
    text = text_of(header_lines(snapshot_of(run), ui_data.NOW_S, 158))
    assert "temperature 47 °C" in text
    assert "0 °C" not in text.replace("temperature 47 °C", "")
