from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Input

from edgelab.widgets.bars import MODES, Banner, FilterBar, Hint, KeyBar, NavBar, key_line, nav_line
from edgelab.widgets.palette import DARK, VARIABLE_DEFAULTS, themes
from edgelab.widgets.spans import Span, text_of, width

HINTS = (Hint("enter", "run", "screen.run"), Hint("/", "filter"), Hint("y", "copy the whole source"))
ALWAYS = (Hint("?", "keys"), Hint("q", "quit"))


class BarsApp(App[None]):
    CSS = "#banner { height: 1; } #filter { height: 1; } #nav, #keys { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLE_DEFAULTS

    def compose(self) -> ComposeResult:
        self.register_theme(themes()[0])
        self.theme = DARK
        yield NavBar("lab")
        yield Banner()
        yield FilterBar()
        yield KeyBar(HINTS, ALWAYS)

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        self.said.append(event.text)

    def on_filter_bar_closed(self) -> None:
        self.said.append("closed")


def lines_of(app: App[None], kind: type[NavBar | Banner | KeyBar]) -> list[str]:
    bar = app.query_one(kind)
    return [bar.render_line(y).text.rstrip() for y in range(bar.size.height)]


@pytest.mark.parametrize("cells", [20, 60, 80, 160])
def test_the_bars_fit_their_line(cells: int) -> None:
    assert width(nav_line("tasks", [Span("● alive "), Span("a_long_task_name" * 3)], cells)) <= cells
    assert width(key_line(HINTS, ALWAYS, cells)) <= cells


def test_the_present_screen_is_marked_and_each_is_a_click_away() -> None:
    line = nav_line("runner", [], 80)
    assert [span.text for span in line if "mark" in span.style] == [" 3 Runner "]
    assert {span.action for span in line if span.action} == {f"app.go('{mode}')" for _, mode, _ in MODES}


def test_the_brief_gives_way_by_whole_parts() -> None:
    brief = [Span("✓ ok "), Span("1.31× "), Span("pw_expand_mnv2")]
    assert text_of([nav_line("lab", brief, 90)]).endswith("✓ ok 1.31× pw_expand_mnv2")
    assert text_of([nav_line("lab", brief, 70)]).endswith("✓ ok 1.31×")


def test_hints_that_do_not_fit_are_left_out_whole_and_the_last_two_stay() -> None:
    text = text_of([key_line(HINTS, ALWAYS, 48)])
    assert "copy" not in text
    assert "/ filter" in text
    assert text.endswith("q quit")


async def test_the_banner_shows_wraps_and_hides() -> None:
    app = BarsApp()
    async with app.run_test(size=(40, 12)) as pilot:
        banner = app.query_one(Banner)
        assert not banner.display
        banner.say("The store cannot be read: it is not a database. Choose another folder.")
        await pilot.pause()
        shown = lines_of(app, Banner)
        assert len(shown) >= 2
        assert shown[0].startswith(" ! The store")
        assert "another folder." in shown[-1]
        banner.say("stopping", "info")
        await pilot.pause()
        assert lines_of(app, Banner) == [" i stopping"]
        banner.say("")
        await pilot.pause()
        assert not banner.display
        assert banner.text == ""


async def test_the_filter_says_each_change_and_an_empty_one_hides_it() -> None:
    app = BarsApp()
    async with app.run_test(size=(40, 12)) as pilot:
        bar = app.query_one(FilterBar)
        bar.open()
        await pilot.press("a", "b", "enter")
        await pilot.pause()
        assert app.said == ["a", "ab", "closed"]
        assert bar.display
        bar.clear()
        assert not bar.display
        bar.open()
        await pilot.press("enter")
        await pilot.pause()
        assert not bar.display
        assert bar.query_one(Input).value == bar.text == ""


async def test_the_navigation_line_shows_the_watched_run() -> None:
    app = BarsApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.query_one(NavBar).show([Span("● alive")])
        await pilot.pause()
        assert lines_of(app, NavBar)[0].endswith("● alive")
        assert "enter run" in lines_of(app, KeyBar)[0]
