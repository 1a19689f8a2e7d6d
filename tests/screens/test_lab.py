from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.screens.device_activity import Activity, activity_lines, read_activity
from edgelab.screens.device_card import HostHistory, device_card
from edgelab.screens.lab import LabScreen
from edgelab.screens.run_feed import RunFeed
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of, width
from tests.support import ui_data
from tests.support.ui import FixedSources, app_over, fixed, until

FULL = HostHistory(ui_data.HOST, (3.4e9, 3.5e9), (20.0, 90.0))


@pytest.mark.parametrize("cells", [60, 78, 158])
@pytest.mark.parametrize("plot_rows", [0, 12])
def test_the_card_fits_and_has_each_reading_with_its_unit(cells: int, plot_rows: int) -> None:
    lines = device_card(ui_data.LOCAL, FULL, ui_data.NOW_S, cells, plot_rows=plot_rows)
    assert all(width(line) <= cells for line in lines)
    text = text_of(lines)
    for said in (
        "Xeon",
        "3.5 GHz of 3.9 GHz max",
        "performance",
        "— unknown",
        "1.42",
        "37 %",
        "11.0 GiB free",
    ):
        assert said in text


def test_a_machine_that_tells_nothing_shows_unknown_and_no_zero() -> None:
    bare = HostHistory(type(ui_data.HOST)(sampled_s=ui_data.NOW_S), (None,), (None,))
    text = text_of(device_card(ui_data.LOCAL, bare, ui_data.NOW_S, 78))
    assert text.count("— unknown") >= 5
    assert "0.0 GHz" not in text
    assert " 0 %" not in text


def test_old_values_look_old() -> None:
    text = text_of(device_card(ui_data.LOCAL, FULL, ui_data.NOW_S + 90, 78))
    assert "stale, read 1 min ago" in text


def test_a_simulated_device_is_marked() -> None:
    device = msgspec.structs.replace(ui_data.LOCAL, name="sim-orin", simulated=True)
    assert "simulated" in text_of(device_card(device, FULL, ui_data.NOW_S, 78))


async def test_the_host_is_sampled_only_while_the_screen_is_on_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgelab.screens.lab.SAMPLE_S", 0.01)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: fixed(app).host_samples > 3)
        assert isinstance(app.screen, LabScreen)
        await pilot.press("4")
        await until(pilot, lambda: not any(w.group == "sample" and w.is_running for w in app.workers))
        before = fixed(app).host_samples
        # Another screen's work goes through the same thread, so a late sample would be seen.
        await pilot.press("2")
        await until(pilot, lambda: app.current_mode == "tasks" and app.screen.is_mounted)
        await app.aside(lambda: None)
        assert fixed(app).host_samples == before
        await pilot.press("1")
        await until(pilot, lambda: fixed(app).host_samples > before)


def test_the_axis_of_a_steady_clock_shows_it_and_says_that_it_is_not_from_zero() -> None:
    steady = HostHistory(ui_data.HOST, (3.47e9,) * 120, (37.0,) * 120)
    text = text_of(device_card(ui_data.LOCAL, steady, ui_data.NOW_S, 158, plot_rows=14))
    assert "axis not from 0, ┄ maximum" in text
    assert "0 Hz" not in text
    assert "3.90 GHz" in text
    narrow = text_of(device_card(ui_data.LOCAL, steady, ui_data.NOW_S, 78))
    assert "▁ 3.12 GHz  █ 3.82 GHz" in narrow
    assert "▁ 0 %  █ 100 %" in narrow


def test_a_maximum_far_above_the_clock_is_not_drawn() -> None:
    host = msgspec.structs.replace(ui_data.HOST, cpu_freq_max_hz=9e9)
    text = text_of(device_card(ui_data.LOCAL, HostHistory(host, (3e9,)), ui_data.NOW_S, 158, plot_rows=14))
    assert "maximum" not in text
    assert "9.00 GHz" not in text


def activity_of(*runs: ui_data.Run) -> Activity:
    sources = FixedSources(Path("unused"), runs)
    sources.store.measured.append(ui_data.UNSTABLE)
    return read_activity(sources, ["local"])["local"]


@pytest.mark.parametrize("cells", [60, 78, 158])
@pytest.mark.parametrize("rows", [5, 6, 17])
@pytest.mark.parametrize("make", [ui_data.running, ui_data.failed, ui_data.unstable, ui_data.lost])
def test_activity_fits_its_room(cells: int, rows: int, make) -> None:  # type: ignore[no-untyped-def]
    run = make()
    watched = RunFeed(FixedSources(Path("unused"), [run]), run.record.id).poll()
    lines = activity_lines(activity_of(run), watched, ui_data.NOW_S, cells, rows)
    assert len(lines) <= rows
    assert all(width(line) <= cells for line in lines)
    assert "pw_expand_mnv2" in text_of(lines)


def test_activity_tells_the_run_under_way_and_only_results_of_this_device() -> None:
    run = ui_data.running()
    watched = RunFeed(FixedSources(Path("unused"), [run]), run.record.id).poll()
    text = text_of(activity_lines(activity_of(run), watched, ui_data.NOW_S, 158, 17))
    for said in (
        "Run under way",
        "time",
        "120/400",
        "so far 1.30×",
        "Latency",
        "strict",
        "≈ unstable",
        "not counted",
    ):
        assert said in text
    assert "18.90×" not in text
    assert "1.29×" not in text


def test_without_a_watched_run_the_newest_one_is_told_from_its_row() -> None:
    text = text_of(activity_lines(activity_of(ui_data.failed()), None, ui_data.NOW_S, 158, 17))
    assert "Newest run" in text
    assert "numeric: pw_expand_mnv2: output 0 differs" in text
    assert "None yet" in text_of(activity_lines(Activity(), None, ui_data.NOW_S, 158, 17))


def test_the_newest_state_read_in_a_run_is_shown_with_its_age() -> None:
    sample = activity_of(ui_data.running()).sample
    text = text_of(device_card(ui_data.LOCAL, FULL, ui_data.NOW_S, 158, plot_rows=12, sample=sample))
    assert "3.5 GHz, 47 °C, load 1.20" in text
    assert "s ago, run 260829-k7f3q" in text


async def test_a_run_that_ends_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgelab.screens.lab.ACTIVITY_S", 3600.0)
    run = ui_data.running()
    app = app_over(tmp_path, run, watch=False)

    def text() -> str:
        return text_of(app.screen.query_one(LinesView).lines)

    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "Run under way" in text())
        done = ui_data.finished()
        run.record = ui_data.record(run.record.id, "done", result=done.record.result)
        run.state = "done"
        fixed(app).time_s += 2.0
        await until(pilot, lambda: "Newest run" in text() and "faster than the plain baseline" in text())


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_whole_lab_is_on_the_screen_without_scrolling(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_over(tmp_path, ui_data.running(), ui_data.finished(), watch=False)
    async with app.run_test(size=size) as pilot:
        view = app.screen.query_one(LinesView)
        await until(pilot, lambda: "Newest results here" in text_of(view.lines))
        assert len(view.lines) <= view.size.height


def test_a_narrow_list_of_results_keeps_task_and_reason() -> None:
    # Half of 120 columns.
    text = text_of(activity_lines(activity_of(ui_data.failed()), None, ui_data.NOW_S, 117, 8))
    for said in (
        "✗ failed   numeric     pw_expand_mnv2",
        "≈ unstable not counted pw_expand_mnv2",
        "softmax_vocab_32k",
    ):
        assert said in text
    assert "strict" not in text
