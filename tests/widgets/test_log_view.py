from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.events import MouseScrollUp

from edgelab.screens.run_view import LogEntry
from edgelab.widgets.log_view import LogView, entry_line
from edgelab.widgets.palette import DARK, VARIABLE_DEFAULTS, themes
from edgelab.widgets.query import Query
from edgelab.widgets.spans import text_of, width


def entries(first: int, last: int, **changes: str) -> tuple[LogEntry, ...]:
    values = {"level": "info", "source": "run", **changes}
    return tuple(
        LogEntry(number=number, time_s=0.0, text=f"line {number}", **values)
        for number in range(first, last + 1)
    )


class LogApp(App[None]):
    CSS = "LogView { height: 1fr; }"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLE_DEFAULTS

    def compose(self) -> ComposeResult:
        self.register_theme(themes()[0])
        self.theme = DARK
        yield LogView(limit=100)


def shown(app: App[None]) -> list[str]:
    log = app.query_one(LogView)
    return [log.render_line(y).text.rstrip(" │┃") for y in range(log.size.height)]


def last_words(app: App[None]) -> list[str]:
    return [line.split()[-1] for line in shown(app)[1:] if line]


async def test_it_follows_the_newest_lines() -> None:
    async with LogApp().run_test(size=(60, 6)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show(entries(1, 50))
        assert last_words(pilot.app) == ["46", "47", "48", "49", "50"]
        log.show(entries(1, 60))
        assert last_words(pilot.app)[-1] == "60"
        assert "following" in shown(pilot.app)[0]


async def test_a_reader_who_scrolled_up_is_left_in_peace() -> None:
    async with LogApp().run_test(size=(60, 6)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show(entries(1, 50))
        await pilot.press("up", "up")
        before = last_words(pilot.app)
        log.show(entries(1, 80))
        assert last_words(pilot.app) == before == ["44", "45", "46", "47", "48"]
        assert "30 new below" in shown(pilot.app)[0]
        await pilot.press("end")
        assert last_words(pilot.app)[-1] == "80"
        assert log.following


async def test_lines_dropped_at_the_front_do_not_move_the_reader() -> None:
    async with LogApp().run_test(size=(60, 6)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show(entries(1, 100))
        await pilot.press("up")
        before = last_words(pilot.app)
        log.show(entries(31, 130))
        assert last_words(pilot.app) == before
        log.show(entries(131, 230))
        assert last_words(pilot.app)[0] == "131"


async def test_scrolling_back_to_the_end_follows_again() -> None:
    async with LogApp().run_test(size=(60, 6)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show(entries(1, 50))
        await pilot.press("up")
        assert not log.following
        await pilot.press("down")
        assert log.following


async def test_the_filter_holds_for_lines_that_come_later() -> None:
    async with LogApp().run_test(size=(60, 8)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show((*entries(1, 3), *entries(4, 4, level="error")))
        log.filter(Query("error"))
        assert last_words(pilot.app) == ["4"]
        log.show(
            (*entries(1, 3), *entries(4, 4, level="error"), *entries(5, 6), *entries(7, 7, level="error"))
        )
        assert last_words(pilot.app) == ["4", "7"]
        log.filter(Query("nothing like this"))
        assert "nothing matches" in "\n".join(shown(pilot.app))
        log.filter(Query(""))
        assert len(last_words(pilot.app)) == 7


async def test_skipped_lines_are_counted_in_the_heading() -> None:
    async with LogApp().run_test(size=(70, 6)) as pilot:
        pilot.app.query_one(LogView).show(entries(1, 3), skipped=12345)
        assert "12,345 lines skipped" in shown(pilot.app)[0]


async def test_another_run_starts_over() -> None:
    async with LogApp().run_test(size=(60, 6)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show(entries(1, 50))
        await pilot.press("home")
        log.show(entries(1, 3))
        assert last_words(pilot.app) == ["1", "2", "3"]
        assert log.following


async def test_long_lines_scroll_sideways() -> None:
    long = (LogEntry(number=1, time_s=0.0, level="info", source="run", text="x" * 100 + "END"),)
    async with LogApp().run_test(size=(40, 6)) as pilot:
        pilot.app.query_one(LogView).show(long)
        assert shown(pilot.app)[1].endswith("…")
        await pilot.press(*["right"] * 6)
        assert shown(pilot.app)[1].endswith("END")


async def test_the_mouse_wheel_and_the_scroll_bar_work() -> None:
    async with LogApp().run_test(size=(60, 12)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show(entries(1, 100))
        await pilot._post_mouse_events([MouseScrollUp], LogView, offset=(5, 5))
        assert not log.following
        await pilot.click(LogView, offset=(59, 1))
        assert last_words(pilot.app)[0] == "1"
        await pilot.click(LogView, offset=(59, 11))
        assert log.following


def test_levels_are_told_in_words_not_only_in_colour() -> None:
    (error,) = entries(1, 1, level="error")
    assert "error: line 1" in text_of([entry_line(error, 60)])


def test_control_characters_cannot_reach_the_terminal() -> None:
    entry = LogEntry(number=1, time_s=0.0, level="info", source="run", text="a\x1b]52;c;boo\x07b")
    line = entry_line(entry, 60)
    assert "\x1b" not in text_of([line])
    assert width(line) <= 60


@pytest.mark.parametrize("bad", ["\x1b[2J", "a\0b", "\u202eabc", "\x9b1m"])
async def test_hostile_lines_are_shown_and_copied_as_visible_text(bad: str) -> None:
    async with LogApp().run_test(size=(60, 6)) as pilot:
        log = pilot.app.query_one(LogView)
        log.show((LogEntry(number=1, time_s=0.0, level="info", source="run\x1b", text=f"[red]{bad}[/red]"),))
        for text in (*shown(pilot.app), log.text()):
            assert text.isprintable()
        assert "[red]" in shown(pilot.app)[1]
