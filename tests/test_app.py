"""The app as its operator meets it: keys, mouse, palette, pause, errors, and what it may import."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.app import EdgeLabApp, run_app
from edgelab.events import LogLine, StoredEvent
from edgelab.home import Home
from edgelab.screens.base import EdgeScreen
from edgelab.screens.dialogs import ConfirmDialog, HelpDialog, RunPicker
from edgelab.screens.runner import RunnerScreen
from edgelab.widgets.bars import Banner, FilterBar
from edgelab.widgets.lines import LinesView
from edgelab.widgets.log_view import LogView
from edgelab.widgets.palette import DARK, LIGHT
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import RowTable
from tests.support import ui_data
from tests.support.ui import app_over, calm, fixed, until

__all__ = ["calm"]
pytestmark = pytest.mark.usefixtures("calm")


def screen_text(app: EdgeLabApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


def shows(app: EdgeLabApp, text: str) -> bool:
    return text in screen_text(app)


def runner_has(app: EdgeLabApp, word: str) -> bool:
    return isinstance(app.screen, RunnerScreen) and app.screen.snapshot is not None and shows(app, word)


@pytest.mark.parametrize(
    ("key", "mode", "text"),
    [
        ("1", "lab", "This machine"),
        ("2", "tasks", "pw_expand_mnv2"),
        ("3", "runner", "No run to show yet"),
        ("4", "leka", "not built yet"),
        ("5", "results", "18.90×"),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_number_keys_switch_screens(
    tmp_path: Path, key: str, mode: str, text: str, size: tuple[int, int]
) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("4" if key != "4" else "1", key)
        await until(pilot, lambda: app.current_mode == mode and shows(app, text))
        await pilot.press("escape")
        assert (app.current_mode == mode) is (mode == "tasks")


async def test_screens_are_a_click_away(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        column = screen_text(app).splitlines()[0].index("Results")
        await pilot.click(offset=(column, 0))
        await until(pilot, lambda: app.current_mode == "results")


async def test_the_filter_narrows_while_typing_and_escape_leaves_it(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "squeezenet1_1"))
        await pilot.press("slash", *"mobile", "space", *"!fire")
        table = app.screen.query_one(RowTable)
        assert (table.shown, table.key) == (1, "inverted_residual_mnv2")
        await pilot.press("enter", "2")
        assert app.screen.query_one(FilterBar).text == "mobile !fire"
        await pilot.press("escape")
        assert table.shown == len(ui_data.TASKS)
        assert not app.screen.query_one(FilterBar).display


async def test_enter_runs_the_task_and_shows_the_runner(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "squeezenet1_1"))
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: runner_has(app, "alive"))
        assert fixed(app).asked == [("launch", "pw_expand_mnv2 on local")]
        assert shows(app, "120/400")


async def test_the_detail_follows_the_cursor_and_copies_its_source(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "class Model"))
        await pilot.press("down", "down")
        await until(pilot, lambda: "Pointwise convolution" in text_of(app.screen.query_one(LinesView).lines))
        await pilot.press("y")
        assert app.clipboard.startswith('"""Pointwise')


@pytest.mark.parametrize("mode", ["lab", "tasks", "runner", "leka", "results"])
async def test_what_arrives_before_a_screen_is_made_or_while_the_app_ends_does_no_harm(
    tmp_path: Path, mode: str
) -> None:
    app = app_over(tmp_path, ui_data.running())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.snapshot is not None)
        snapshot = app.snapshot
        assert snapshot is not None
        made = app.switch_mode(mode)
        screen = app.screen
        assert isinstance(screen, EdgeScreen)
        app._paint(snapshot)
        screen.say("The disk is full.")
        await made
        await until(pilot, lambda: shows(app, "The disk is full."))
    app._paint(snapshot)
    app._say("Too late.")
    screen.say("Too late.")


async def test_stopping_asks_first(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: runner_has(app, "alive"))
        await pilot.press("s")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        assert fixed(app).asked == []
        await pilot.press("s", "y")
        await until(pilot, lambda: fixed(app).asked == [("stop", "260829-k7f3q")])


@pytest.mark.parametrize(
    ("make", "asked"), [(ui_data.lost, True), (ui_data.interrupted, True), (ui_data.finished, False)]
)
async def test_resume_only_where_it_makes_sense(tmp_path: Path, make, asked: bool) -> None:  # type: ignore[no-untyped-def]
    run = make()
    app = app_over(tmp_path, run)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: runner_has(app, "Verdict"))
        await pilot.press("R")
        if asked:
            await until(pilot, lambda: fixed(app).asked == [("resume", run.record.id)])
        else:
            await app.aside(lambda: None)
            assert fixed(app).asked == []


async def test_brackets_and_the_picker_switch_runs(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running(), ui_data.finished(), ui_data.failed())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: runner_has(app, "260829-k7f3q"))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: runner_has(app, "260829-ok001"))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: runner_has(app, "260829-k7f3q"))
        await pilot.press("p")
        await until(
            pilot, lambda: isinstance(app.screen, RunPicker) and app.screen.query_one(RowTable).shown == 3
        )
        await pilot.press("end", "enter")
        await until(pilot, lambda: runner_has(app, "260829-bad01"))
        assert shows(app, "✗ FAILED")


async def test_pause_holds_the_view_and_never_the_intake(tmp_path: Path) -> None:
    run = ui_data.running()
    app = app_over(tmp_path, run)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: runner_has(app, "other work runs"))
        await pilot.press("space")
        assert shows(app, "view paused")
        last = run.events[-1]
        run.events.append(StoredEvent(last.id + 1, last.run, last.time_s, LogLine(text="said while paused")))
        await until(
            pilot, lambda: app.snapshot is not None and app.snapshot.view.last_event_id == last.id + 1
        )
        assert not shows(app, "said while paused")
        await pilot.press("space")
        await until(pilot, lambda: shows(app, "said while paused"))


async def test_a_pause_ends_with_the_view_it_holds(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running(), ui_data.finished())
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: runner_has(app, "other work runs"))
        await pilot.press("space")
        assert shows(app, "view paused")
        await pilot.press("5")
        await until(pilot, lambda: shows(app, "18.90×"))
        assert not app.paused
        assert not shows(app, "paused")
        await pilot.press("space", "escape")
        await until(pilot, lambda: runner_has(app, "260829-k7f3q"))
        assert not app.paused
        await pilot.press("space", "left_square_bracket")
        await until(pilot, lambda: runner_has(app, "260829-ok001"))
        assert not app.paused


async def test_a_dialog_over_a_paused_view_ends_no_pause(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running())
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: runner_has(app, "other work runs"))
        await pilot.press("space", "question_mark", "escape")
        await until(pilot, lambda: isinstance(app.screen, RunnerScreen))
        assert shows(app, "view paused")


async def test_what_was_never_shown_is_not_held_still(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running(), ui_data.finished())
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: runner_has(app, "other work runs"))
        app.open_run("260829-ok001")
        app.action_pause()
        await until(pilot, lambda: runner_has(app, "260829-ok001"))
        await pilot.press("5", "space")
        await until(pilot, lambda: shows(app, "18.90×") and shows(app, "view paused"))


async def test_the_lab_paused_before_its_first_sample_shows_that_sample(tmp_path: Path) -> None:
    app = app_over(tmp_path, watch=False)
    async with app.run_test(size=(160, 48)) as pilot:
        app.action_pause()
        await until(pilot, lambda: shows(app, "Xeon") and shows(app, "softmax_vocab_32k"))
        assert shows(app, "view paused")


async def test_escape_leaves_the_filter_of_the_tasks_and_never_the_tasks(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "squeezenet1_1"))
        await pilot.press("slash", *"mobile", "escape", "escape", "escape")
        assert app.current_mode == "tasks"
        assert app.screen.query_one(RowTable).shown == len(ui_data.TASKS)


async def test_the_palette_shows_brackets(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running())
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: runner_has(app, "alive"))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: type(app.screen).__name__ == "CommandPalette")
        await pilot.press(*"choose a run")
        await until(pilot, lambda: shows(app, "Key p; [ and ] go to the older and newer"))


async def test_a_very_small_runner_begins_with_the_name_of_the_run(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running())
    async with app.run_test(size=(60, 15)) as pilot:
        await until(pilot, lambda: runner_has(app, "Verdict"))
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert "EdgeLab" in lines[0]
        assert ui_data.TASK in lines[1]
        assert app.screen.scroll_offset.y == 0


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_the_rules_of_the_help_end_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: shows(app, "Lab ───"))
        assert not shows(app, "…  ")
        assert not shows(app, "─…")


async def test_the_log_is_filtered_and_enlarged(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: runner_has(app, "timing block 6"))
        await pilot.press("slash", *"warning", "enter")
        await until(pilot, lambda: not shows(app, "timing block 6"))
        assert shows(app, "1 match")
        assert isinstance(app.focused, LogView)
        await pilot.press("escape", "m")
        await until(pilot, lambda: shows(app, "seed 23") and not shows(app, "Statistics"))
        await pilot.press("escape")
        await until(pilot, lambda: shows(app, "Statistics"))


async def test_results_open_their_run(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.finished(), ui_data.failed(), watch=False)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: shows(app, "numeric"))
        await pilot.press("slash", *"failed", "enter", "enter")
        await until(pilot, lambda: runner_has(app, "260829-bad01"))


async def test_the_end_of_a_run_is_told_on_other_screens(tmp_path: Path) -> None:
    run = ui_data.running()
    app = app_over(tmp_path, run)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: runner_has(app, "alive"))
        await pilot.press("4")
        done = ui_data.finished()
        run.record = ui_data.record(run.record.id, "done", result=done.record.result)
        run.state = "done"
        fixed(app).time_s += 2.0
        await until(pilot, lambda: any("1.308×" in notice.message for notice in app._notifications))


async def test_a_run_under_way_is_found_at_start_and_told_on_every_screen(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.running(), watch=False)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: shows(app, "alive time 30 % pw_expand_mnv2"))
        assert app.current_mode == "lab"
        await pilot.press("4")
        await until(pilot, lambda: shows(app, "not built yet") and shows(app, "time 30 %"))


async def test_help_palette_and_theme(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpDialog)
        await pilot.press("escape", "t")
        assert app.theme == LIGHT
        await pilot.press("t")
        assert app.theme == DARK
        names = [command.title for command in app.get_system_commands(app.screen)]
        assert {"Go to Runner", "Pause the view", "Save a screenshot", "Copy", "Quit"} <= set(names)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: type(app.screen).__name__ == "CommandPalette")


async def test_a_screenshot_is_saved_and_its_place_told(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("ctrl+s")
        (saved,) = (tmp_path / "screenshots").glob("*.svg")
        assert saved.read_text().startswith("<svg")
        # Whole, though the notice is narrow.
        await until(pilot, lambda: shows(app, f" {saved.name} "))


@pytest.mark.parametrize(("make", "says"), [(ui_data.running, True), (ui_data.finished, False)])
async def test_quitting_says_that_a_run_goes_on(tmp_path: Path, capsys, make, says: bool) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, make())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: runner_has(app, "Verdict"))
        await pilot.press("q")
    assert ("goes on without the app" in capsys.readouterr().err) is says
    assert app.return_code == 0


@pytest.mark.parametrize("mode", ["tasks", "runner", "results"])
async def test_a_store_that_cannot_be_read_is_a_banner_not_a_crash(tmp_path: Path, mode: str) -> None:
    app = app_over(tmp_path, ui_data.running(), watch=False)
    fixed(app).store.problem = "Cannot read the store: file is not a database."
    async with app.run_test(size=(80, 24)) as pilot:
        app.action_go(mode)
        await until(pilot, lambda: shows(app, "file is not a database"))
        fixed(app).store.problem = ""
        await pilot.press("4", {"tasks": "2", "runner": "3", "results": "5"}[mode])
        await until(pilot, lambda: shows(app, "pw_expand_mnv2"))
        await until(pilot, lambda: not app.screen.query_one(Banner).display)


async def test_an_internal_error_is_shown_and_logged_and_the_app_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_over(tmp_path)
    monkeypatch.setattr(fixed(app), "tasks", lambda: 1 / 0)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "ZeroDivisionError"))
        assert "ZeroDivisionError" in (tmp_path / "logs" / "app.log").read_text()
        await pilot.press("4")
        await until(pilot, lambda: shows(app, "not built yet"))


async def test_an_error_in_the_watched_run_is_shown_and_reading_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_over(tmp_path, ui_data.running())
    kept = fixed(app).store.events_tail
    monkeypatch.setattr(fixed(app).store, "events_tail", lambda run, limit: 1 / 0)
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: shows(app, "ZeroDivisionError"))
        monkeypatch.setattr(fixed(app).store, "events_tail", kept)
        await until(pilot, lambda: runner_has(app, "alive"))


async def test_every_screen_survives_being_small_and_being_resized(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.finished(), ui_data.failed())
    async with app.run_test(size=(80, 24)) as pilot:
        for key in "12345":
            await pilot.press(key)
            for size in ((20, 6), (160, 48), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
            assert isinstance(app.screen, EdgeScreen)


def test_run_app_returns_the_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EdgeLabApp, "run", lambda app: app.exit())
    assert run_app(Home(tmp_path)) == 0


async def test_results_are_filtered_sorted_and_told_in_detail(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.finished(), ui_data.failed(), ui_data.unstable(), watch=False)
    fixed(app).store.measured.append(ui_data.UNSTABLE)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("5")
        table = app.screen.query_one(RowTable)
        await until(pilot, lambda: table.total == 5)
        assert shows(app, "≈ unstable")
        assert shows(app, "not counted")
        assert shows(app, "no speed-up is reported")
        await pilot.press("slash", *"paired", "enter")
        assert (table.shown, table.key) == (1, "260829-soft1")
        await until(pilot, lambda: shows(app, "quality    paired"))
        await pilot.press("escape", "s", "s", "s", "S")
        assert table.sorted_by == "by speed-up ↓"
        await pilot.press("home")
        await until(pilot, lambda: table.key == "260829-deq01")
        # What does not count is never among the fastest.
        await pilot.press("end")
        await until(pilot, lambda: table.key in ("260829-wob01", "260829-bad01"))


async def test_results_run_the_task_and_candidate_of_a_row_again(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.failed(), watch=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: app.screen.query_one(RowTable).total > 0)
        await pilot.press("r")
        await until(pilot, lambda: fixed(app).asked == [("again", "260829-bad01")])
        await until(pilot, lambda: runner_has(app, "alive"))


async def test_the_detail_is_laid_out_for_the_width_it_has(tmp_path: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("2")
        # The note at the right end of the heading was cut off when the width was that of another layout.
        await until(pilot, lambda: shows(app, "─ L1-001"))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: shows(app, "─ L1-001"))
