"""The Lab screen over many devices, as its operator meets it: keys, mouse, dialogs, pause, coalescing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from edgelab.app import EdgeLabApp
from edgelab.lab.board_view import BoardView
from edgelab.lab.device import Device
from edgelab.screens.add_device_dialog import AddDeviceDialog
from edgelab.screens.dialogs import ConfirmDialog
from edgelab.screens.lab import LabScreen
from edgelab.screens.password_dialog import PasswordDialog
from edgelab.widgets.bars import Banner
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import RowTable
from tests.support import ui_boards as boards
from tests.support.ui import FixedFeed, FixedSources, fixed, until

pytestmark = pytest.mark.usefixtures("calm")


@asynccontextmanager
async def lab(
    folder: Path,
    devices: tuple[Device, ...] = boards.MIXED,
    views: list[BoardView] | None = None,
    size: tuple[int, int] = (160, 48),
) -> AsyncIterator[tuple[EdgeLabApp, Pilot[None]]]:
    sources = FixedSources(folder)
    sources.lab = devices
    sources.boards = FixedFeed(boards.mixed_views() if views is None else views)
    app = EdgeLabApp(sources)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "This machine" in detail(app) and rows(app).total in (0, len(devices)))
        yield app, pilot


def rows(app: EdgeLabApp) -> RowTable:
    return app.screen_stack[0].query_one("#devices", RowTable)


def detail(app: EdgeLabApp) -> str:
    return text_of(app.screen_stack[0].query_one("#cards", LinesView).lines)


def painted(app: EdgeLabApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def noticed(app: EdgeLabApp, words: str) -> bool:
    return any(words in notice.message for notice in app._notifications)


def feed(app: EdgeLabApp) -> FixedFeed:
    return fixed(app).boards


async def test_the_feed_begins_with_the_screen_and_ends_with_the_app(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, _):
        used = feed(app)
        assert (used.started, used.closed) == (True, False)
    assert used.closed


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_detail_follows_the_cursor(tmp_path: Path, size: tuple[int, int]) -> None:
    async with lab(tmp_path, size=size) as (app, pilot):
        await pilot.press("j")
        await until(pilot, lambda: "Jetson AGX Orin" in detail(app))
        await pilot.press("down", "j")
        await until(pilot, lambda: "left shelf, own fan" in detail(app))
        await pilot.press("k", "up", "up")
        await until(pilot, lambda: "This machine" in detail(app))


async def test_a_click_chooses_and_the_wheel_moves(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.click("#devices", offset=(5, 4))
        await until(pilot, lambda: rows(app).key == "orin-bench")


async def test_a_check_goes_to_all_marked_devices_at_once(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j", "x", "x", "x", "c")
        await until(pilot, lambda: len(feed(app).asked) == 3)
        assert feed(app).asked == [("check", "sim-orin"), ("check", "sim-rk3588"), ("check", "orin-bench")]


async def test_without_marks_a_key_means_the_device_under_the_cursor(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j", "j", "R", "r")
        await until(pilot, lambda: len(feed(app).asked) == 3)
        # Whoever changes clocks wants another verdict than that from before.
        wanted = [("restore", "sim-rk3588"), ("check", "sim-rk3588"), ("reconnect", "sim-rk3588")]
        assert feed(app).asked == wanted
        assert "Session check" not in detail(app)


async def test_a_check_of_several_ends_in_one_verdict_each_that_can_be_copied(tmp_path: Path) -> None:
    views = [view for view in boards.built_in_views() if view.device != "local"]
    async with lab(tmp_path, boards.BUILT_IN, views) as (app, pilot):
        await pilot.press("j", "x", "x", "c")
        await until(pilot, lambda: "2 checking" in detail(app))
        feed(app).put(
            boards.orin_view(check=boards.report("sim-orin", *boards.GOOD)),
            boards.rk3588_view(check=boards.report("sim-rk3588", boards.UNLOCKED, boards.FULL)),
        )
        await until(pilot, lambda: "1 ready, 1 not ready" in detail(app))
        assert "✗ NOT READY  sim-rk3588  The GPU clock is not locked" in detail(app)
        await pilot.press("y")
        assert boards.FULL.reason in app.clipboard
        assert "sim-orin: READY" in app.clipboard
        # Another device gets the room; v brings the verdicts back, esc puts them away.
        await pilot.press("k")
        await until(pilot, lambda: "v shows each" in detail(app))
        await pilot.press("v")
        await until(pilot, lambda: "✓ READY" in detail(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Session check" not in detail(app))
        assert app.current_mode == "lab"


async def test_locking_says_what_changes_and_asks(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j", "j", "L")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "GPU held at 1000 MHz (now 300)" in painted(app)
        await pilot.press("n")
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert feed(app).asked == []
        await pilot.press("y")
        await until(pilot, lambda: feed(app).asked == [("lock", "sim-rk3588"), ("check", "sim-rk3588")])


async def test_a_device_whose_clocks_are_not_ours_is_not_asked_to_lock(tmp_path: Path) -> None:
    async with lab(tmp_path, boards.BUILT_IN, boards.built_in_views()) as (app, pilot):
        await pilot.press("j", "j", "j", "L")
        await until(pilot, lambda: noticed(app, "not EdgeLab's to lock"))
        assert feed(app).asked == []


async def test_a_password_is_asked_before_what_needs_it_and_goes_to_the_feed_alone(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j", "j", "j", "j", "c")
        await until(pilot, lambda: isinstance(app.screen, PasswordDialog))
        await pilot.press(*"hunter2")
        assert "hunter2" not in painted(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(feed(app).asked) == 2)
        assert feed(app).asked == [("password", "orin-roof"), ("check", "orin-roof")]
        # It is asked once: whoever mistyped presses p.
        await pilot.press("c")
        await until(pilot, lambda: len(feed(app).asked) == 3)
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PasswordDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LabScreen))
        assert len(feed(app).asked) == 3


async def test_without_its_password_a_device_is_left_out(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j", "j", "j", "x", "x", "c")
        await until(pilot, lambda: isinstance(app.screen, PasswordDialog))
        await pilot.press("escape")
        await until(pilot, lambda: feed(app).asked == [("check", "orin-bench")])


async def test_an_unknown_key_is_shown_before_it_is_trusted(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        rows(app).select("rock-new")
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert boards.FINGERPRINT in painted(app).replace("\n", "")
        await pilot.press("y")
        await until(pilot, lambda: feed(app).asked == [("trust_key", "rock-new")])


async def test_a_changed_key_cannot_be_trusted_here(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        rows(app).select("rock-door")
        await pilot.press("u")
        await until(pilot, lambda: noticed(app, "no unknown host key"))
        assert feed(app).asked == []


async def test_the_filter_narrows_the_rows_and_marks_stay(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j", "x", "slash", *"rock", "space", *"!key", "enter")
        await until(pilot, lambda: rows(app).shown == 1)
        assert rows(app).key == "rock-a"
        await pilot.press("c")
        await until(pilot, lambda: feed(app).asked == [("check", "sim-orin")])


async def test_a_pause_holds_rows_and_detail_and_not_the_intake(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("j")
        await until(pilot, lambda: "MAXN" in detail(app))
        await pilot.press("space")
        state = msgspec.structs.replace(boards.orin_state(), load_1min=7.77)
        feed(app).put(boards.orin_view(state=state))
        await pilot.press("j", "k")
        await until(pilot, lambda: rows(app).key == "sim-orin")
        assert "7.77" not in detail(app)
        assert "0.05 over 1 min" in detail(app)
        await pilot.press("space")
        feed(app).put(boards.orin_view(state=state))
        await until(pilot, lambda: "7.77" in detail(app))


async def test_reading_takes_the_screen_where_it_is_small_and_esc_gives_it_back(tmp_path: Path) -> None:
    async with lab(tmp_path, size=(80, 24)) as (app, pilot):
        await pilot.press("j", "enter")
        await until(pilot, lambda: not rows(app).region.height)
        assert "✓ lease" in painted(app)
        await pilot.press("escape")
        await until(pilot, lambda: rows(app).region.height > 0 and rows(app).has_focus)
        assert app.current_mode == "lab"


async def test_nothing_jumps_while_values_change(tmp_path: Path) -> None:
    devices = boards.many(32)
    async with lab(tmp_path, devices, boards.many_views(devices), size=(120, 30)) as (app, pilot):
        rows(app).select("orin-20")
        await pilot.pause()
        before = painted(app).splitlines()
        top = rows(app)._top
        view = app.screen.query_one("#cards", LinesView)
        view.scroll_to(0, 2, animate=False)
        feed(app).put(*boards.many_views(devices, tick=1))
        await until(pilot, lambda: painted(app).splitlines() != before)
        assert (rows(app).key, rows(app)._top, view.scroll_offset.y) == ("orin-20", top, 2)
        assert painted(app).splitlines()[1] == before[1]


async def test_a_storm_of_views_is_painted_at_most_ten_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = boards.many(32)
    async with lab(tmp_path, devices, boards.many_views(devices)) as (app, pilot):
        # A timer that never fires in this test: what is painted then was not painted by the storm itself.
        monkeypatch.setattr("edgelab.screens.lab.PAINT_S", 3600.0)
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, LabScreen)
        screen._paint_due = False
        shown = []
        monkeypatch.setattr(screen, "show", lambda: shown.append(1))
        for tick in range(50):
            feed(app).put(*boards.many_views(devices, tick=tick))
        await pilot.pause()
        assert (shown, screen._paint_due) == ([], True)
        screen._paint_boards()
        assert (shown, screen._paint_due) == ([1], False)


async def test_a_hidden_screen_gathers_history_and_paints_nothing(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LabScreen)
        await pilot.press("5")
        await until(pilot, lambda: app.current_mode == "results")
        before = len(screen._histories.of("sim-orin").gpu_hz)
        feed(app).put(boards.orin_view(state=boards.orin_state(age_s=-1)))
        assert len(screen._histories.of("sim-orin").gpu_hz) == before + 1
        assert not screen._paint_due
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "lab" and "sim-orin" in painted(app))


async def test_trouble_of_the_monitor_is_a_banner_that_goes_away(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        feed(app).trouble = "The device monitor ended; it is started again."
        feed(app).put()
        await until(pilot, lambda: "monitor ended" in app.screen.query_one(Banner).text)
        feed(app).trouble = ""
        feed(app).put()
        await until(pilot, lambda: not app.screen.query_one(Banner).text)


async def test_boards_can_be_left_alone(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("P")
        await until(pilot, lambda: "left alone" in app.screen.query_one(Banner).text)
        await pilot.press("P")
        await until(pilot, lambda: not app.screen.query_one(Banner).text)
        assert feed(app).asked == [("pause", "True"), ("pause", "False")]


async def test_a_device_is_added_by_a_dialog_that_names_what_is_wrong(tmp_path: Path) -> None:
    async with lab(tmp_path) as (app, pilot):
        first = feed(app)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, AddDeviceDialog))
        dialog = app.screen
        assert isinstance(dialog, AddDeviceDialog)
        await pilot.press(*"rock-a", "tab", *"rk")
        # What is offered comes by a worker of its own.
        await until(pilot, lambda: dialog.query_one("#add-profile", Input)._suggestion == "rk3588")
        await pilot.press("right", "down", *"10.0.7.90", "enter")
        await until(pilot, lambda: "there already" in dialog.problem)
        dialog.query_one("#add-name", Input).value = "rock-z"
        await pilot.press("enter")
        await until(pilot, lambda: rows(app).total == len(boards.MIXED) + 1)
        (entry,) = fixed(app).added
        assert (entry.name, entry.profile, entry.host, entry.sudo) == (
            "rock-z",
            "rk3588",
            "10.0.7.90",
            "passwordless",
        )
        assert first.closed
        assert feed(app) is not first
        assert feed(app).started


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"profile": "rk3588", "host": "h"}, "name: it is missing"),
        ({"name": "a", "profile": "rk3588", "host": "h", "port": "22a"}, "port: expected an integer"),
        ({"name": "a", "profile": "rk3588", "host": "h", "sudo": "yes"}, "sudo: expected"),
    ],
)
async def test_what_no_entry_can_hold_is_refused(tmp_path: Path, typed: dict[str, str], said: str) -> None:
    async with lab(tmp_path) as (app, pilot):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, AddDeviceDialog))
        dialog = app.screen
        assert isinstance(dialog, AddDeviceDialog)
        for name, value in typed.items():
            dialog.query_one(f"#add-{name}", Input).value = value
        await pilot.press("enter")
        await until(pilot, lambda: said in dialog.problem)
        assert fixed(app).added == []


async def test_runs_go_to_the_device_that_was_chosen_here(tmp_path: Path) -> None:
    async with lab(tmp_path, boards.BUILT_IN, boards.built_in_views()) as (app, pilot):
        await pilot.press("j", "d")
        await until(pilot, lambda: "→ sim-orin" in painted(app))
        await pilot.press("2")
        await until(pilot, lambda: "Runs go to sim-orin" in painted(app))


async def test_a_lab_without_boards_says_how_to_get_one(tmp_path: Path) -> None:
    async with lab(tmp_path, (boards.LOCAL,), []) as (app, pilot):
        await pilot.press("c")
        await until(pilot, lambda: noticed(app, "n adds one"))
        assert not feed(app).started


async def test_this_machine_is_checked_like_a_board(tmp_path: Path) -> None:
    async with lab(tmp_path, boards.BUILT_IN, boards.built_in_views()) as (app, pilot):
        assert "This machine" in detail(app)
        await pilot.press("c")
        await until(pilot, lambda: feed(app).asked == [("check", "local")])
        checked = boards.report("local", boards.BUSY)
        feed(app).put(boards.view("local", boards.local_state(), check=checked))
        await until(pilot, lambda: "✗ load" in detail(app))
