from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.events import DeviceAwaited, RunFinished, RunStarted, StepStarted
from edgelab.results import BaselineInfo
from edgelab.screens.run_feed import RunFeed, RunSnapshot
from edgelab.screens.run_words import brief, comparison, ended_words
from edgelab.screens.runner_panels import header_lines, speedup_plot, stats_lines, steps_lines
from edgelab.screens.verdict import verdict_lines
from edgelab.widgets.plot import plot_lines
from edgelab.widgets.spans import Span, text_of, width
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
        (ui_data.finished, ("✓ OK", "1.308×", "[1.302, 1.315]", "faster than the plain baseline")),
        (ui_data.failed, ("✗ FAILED", "numeric", "got 0.73125", "Compare the program")),
        (ui_data.unstable, ("≈ UNSTABLE", "no speed-up is reported", "rCV 14.0 %", "run it again")),
        (ui_data.lost, ("! LOST", "process is gone", "R resumes")),
        (ui_data.interrupted, ("‖ INTERRUPTED", "stopped by the operator", "R resumes")),
        (
            ui_data.running,
            ("No verdict yet", "time is under way", "no quality yet: it counts once one holds"),
        ),
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
        ({"speedup": 1.001, "speedup_ci95": (0.99, 1.01)}, "shown: the interval contains 1.00"),
        ({"candidate_program": "c" * 64}, "same program: what is left is noise"),
        ({"candidate_program": "", "baseline": BaselineInfo("plain")}, "faster than the plain baseline"),
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


@pytest.mark.parametrize(
    ("make", "missed"),
    [(ui_data.failed, 2), (ui_data.interrupted, 1), (ui_data.lost, 1), (ui_data.finished, 0)],
)
def test_an_ended_run_says_which_steps_were_never_reached(make, missed: int) -> None:  # type: ignore[no-untyped-def]
    lines = text_of(steps_lines(snapshot_of(make()), ui_data.NOW_S, 60)).splitlines()
    assert "waiting" not in "".join(lines)
    assert sum("not reached" in line for line in lines[1:]) == missed
    assert (f"{missed} not reached" in lines[0]) is bool(missed)


def test_the_count_of_steps_fits_the_narrow_panel() -> None:
    assert "3 of 6 done, 2 not reached" in text_of(
        steps_lines(snapshot_of(ui_data.failed()), ui_data.NOW_S, 37)
    )


def test_steps_of_a_running_run_wait() -> None:
    text = text_of(steps_lines(snapshot_of(ui_data.running()), ui_data.NOW_S, 60))
    assert "waiting" in text
    assert "not reached" not in text


@pytest.mark.parametrize(("times", "says"), [(0, ""), (1, "resumed"), (3, "resumed 3 times")])
def test_the_header_says_that_a_run_was_resumed(times: int, says: str) -> None:
    snapshot = snapshot_of(ui_data.running())
    view = msgspec.structs.replace(snapshot.view, resumed=times)
    text = text_of(header_lines(msgspec.structs.replace(snapshot, view=view), ui_data.NOW_S, 78))
    assert ("resumed" in text) is bool(says)
    assert says in text


def test_the_statistics_show_the_medians_of_all_pairs_while_timing() -> None:
    snapshot = snapshot_of(ui_data.running())
    assert snapshot.view.timing is not None
    timing = msgspec.structs.replace(
        snapshot.view.timing, latency_candidate_s=7.77e-3, latency_baseline_s=8.88e-3
    )
    text = text_of(stats_lines(msgspec.structs.replace(snapshot.view, timing=timing), 60))
    assert "7.77 ms" in text
    assert "8.88 ms" in text


def with_failure(**changes: str) -> ui_data.Run:
    run = ui_data.failed()
    assert run.record.result is not None
    failure = msgspec.structs.replace(run.record.result.failure, **changes)
    result = msgspec.structs.replace(run.record.result, failure=failure)
    last = run.events[-1]
    run.record = msgspec.structs.replace(run.record, result=result)
    run.events[-1] = msgspec.structs.replace(last, body=RunFinished(result=result))
    return run


def test_the_advice_of_the_failure_goes_before_that_of_its_class() -> None:
    text = text_of(verdict_lines(snapshot_of(with_failure(advice="Swap the two axes.")), 118, 12))
    assert "Swap the two axes." in text
    assert "Compare the program" not in text


@pytest.mark.parametrize("cells", [37, 78, 158])
def test_a_hostile_message_is_shown_and_not_obeyed(cells: int) -> None:
    hostile = "\x1b[2J\x1b]52;c;cm0=\x07[red]x[/red]\u202eabc\0\r\nnext"
    run = with_failure(message=hostile, detail=hostile, advice=hostile, failure_class="numeric\x1b")
    run.record = msgspec.structs.replace(run.record, task=hostile, candidate_path=f"/tmp/{hostile}")
    snapshot = snapshot_of(run)
    panels = (
        header_lines(snapshot, ui_data.NOW_S, cells),
        steps_lines(snapshot, ui_data.NOW_S, cells),
        verdict_lines(snapshot, cells, 30),
        [brief(snapshot)],
    )
    for lines in panels:
        assert all(span.text.isprintable() for line in lines for span in line)
    assert all(width(line) <= cells for line in verdict_lines(snapshot, cells, 30))
    assert "[red]x[/red]" in text_of(verdict_lines(snapshot, 158, 30))


def test_the_ratio_of_an_unstable_run_is_not_dressed_as_a_result() -> None:
    spans = [span for line in stats_lines(snapshot_of(ui_data.unstable()).view, 60) for span in line]
    assert [span.style for span in spans if span.text == "1.29×"] == ["faint"]


def test_a_speedup_has_the_decimals_of_its_interval_everywhere() -> None:
    snapshot = snapshot_of(ui_data.finished())
    panels = (
        stats_lines(snapshot.view, 60),
        verdict_lines(snapshot, 118, 12),
        plot_lines(speedup_plot(snapshot.view), 78, 12),
        [[Span(ended_words(snapshot))]],
    )
    for lines in panels:
        assert "1.308×" in text_of(lines)


def with_timing(**changes: object) -> RunSnapshot:
    snapshot = snapshot_of(ui_data.running())
    assert snapshot.view.timing is not None
    timing = msgspec.structs.replace(snapshot.view.timing, **changes)
    return msgspec.structs.replace(snapshot, view=msgspec.structs.replace(snapshot.view, timing=timing))


@pytest.mark.parametrize(
    ("quality", "statistics", "verdict"),
    [
        ("none", "no quality yet", "no quality yet: it counts once one holds"),
        ("strict", "quality strict", "quality strict holds: it counts once the last checks pass"),
    ],
)
def test_statistics_and_verdict_agree_on_the_quality(quality: str, statistics: str, verdict: str) -> None:
    snapshot = with_timing(quality=quality)
    assert statistics in text_of(stats_lines(snapshot.view, 60))
    assert verdict in text_of(verdict_lines(snapshot, 118, 12))


@pytest.mark.parametrize("bounds", [(0.97, 1.04), (0.999, 1.007)])
def test_no_two_heights_of_the_speedup_have_one_label(bounds: tuple[float, float]) -> None:
    plot = speedup_plot(with_timing(speedup=1.003, speedup_ci95=bounds).view)
    plot = plot._replace(limits=(0.95, 1.05))
    labels = [line[:10].strip() for line in text_of(plot_lines(plot, 78, 24)).splitlines()[1:]]
    shown = [label for label in labels if label]
    assert len(shown) == len(set(shown)) >= 3


def test_a_stopped_step_says_so() -> None:
    text = text_of(steps_lines(snapshot_of(ui_data.interrupted()), ui_data.NOW_S, 60))
    assert "‖ time      stopped" in text
    assert "50 of 400" in text
    assert "failed" not in text


def test_a_run_that_waits_for_the_device_says_for_whom() -> None:
    script = ui_data.Script("260829-wait1", start_s=ui_data.NOW_S - 5.0)
    script.say(RunStarted(task=ui_data.TASK, device="local", backend="llvm"))
    script.say(DeviceAwaited(device="local", holder="run a1 of ada@bench"))
    snapshot = snapshot_of(ui_data.Run(ui_data.record(script.run, "running"), script.events))
    panel = text_of(verdict_lines(snapshot, 78, 4))
    assert "Waiting for the device: run a1 of ada@bench is using it." in panel
    assert "waits for the device" in text_of(header_lines(snapshot, ui_data.NOW_S, 78))
    assert "waits for the device" in text_of([brief(snapshot)])
    # Once it is gone it waits no more.
    lost = msgspec.structs.replace(snapshot, state="lost")
    assert "waits" not in text_of([brief(lost), *header_lines(lost, ui_data.NOW_S, 78)])


def test_the_clocks_of_a_resumed_run_agree() -> None:
    run = ui_data.interrupted()
    again = ui_data.Script(run.record.id, start_s=ui_data.NOW_S - 4.0, first_id=6000)
    again.say(RunStarted(task=ui_data.TASK, device="local", backend="llvm", resumed=True), 0.0)
    again.say(StepStarted(step="reference"), 0.0)
    # The record still has the end of the attempt before, as the store keeps it.
    resumed = ui_data.Run(msgspec.structs.replace(run.record, state="running"), [*run.events, *again.events])
    snapshot = snapshot_of(resumed)
    assert "4.0 s elapsed" in text_of(header_lines(snapshot, ui_data.NOW_S, 90))
    steps = text_of(steps_lines(snapshot, ui_data.NOW_S, 60))
    assert "running   4.0 s" in steps
    assert "0 of 6 done" in steps


def test_an_unstable_comparison_of_a_program_with_itself_says_so() -> None:
    snapshot = snapshot_of(ui_data.unstable())
    assert snapshot.view.result is not None
    result = msgspec.structs.replace(snapshot.view.result, candidate_program="c" * 64)
    view = msgspec.structs.replace(snapshot.view, result=result)
    text = text_of(verdict_lines(msgspec.structs.replace(snapshot, view=view), 158, 12))
    assert "same program: what is left is noise" in text
    assert "same program" not in text_of(verdict_lines(snapshot, 158, 12))
