"""A table of values that change all the time: nothing moves, and only what changed is painted."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from edgelab.widgets.lines import LinesView
from edgelab.widgets.palette import DARK, VARIABLE_DEFAULTS, themes
from edgelab.widgets.spans import Span
from edgelab.widgets.table import Column, Row, RowTable

COLUMNS = (Column("Name", 6), Column("Value", 6, right=True))


def rows(*values: str) -> list[Row]:
    return [
        Row(f"r{number}", (Span(f"r{number}"), Span(value)), (number, value), value)
        for number, value in enumerate(values)
    ]


class TableApp(App[None]):
    CSS = "RowTable { height: 1fr; } #lines { height: 4; }"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLE_DEFAULTS

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str | None] = []

    def compose(self) -> ComposeResult:
        self.register_theme(themes()[0])
        self.theme = DARK
        yield RowTable(COLUMNS, steady=True)
        yield LinesView(id="lines")

    def on_row_table_highlighted(self, event: RowTable.Highlighted) -> None:
        self.told.append(event.key)


def painted(app: App[None]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


async def test_a_longer_text_does_not_widen_its_column_nor_tell_the_cursor_anew() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.query_one(RowTable)
        table.set_rows(rows("a", "b"))
        await pilot.pause()
        header, told = painted(app)[0], list(app.told)
        table.set_rows(rows("a very long value", "b"))
        await pilot.pause()
        assert painted(app)[0] == header
        assert "…" in painted(app)[1]
        assert app.told == told


async def test_only_rows_that_changed_are_painted_anew_and_show_their_new_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = TableApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.query_one(RowTable)
        table.set_rows(rows("a", "b", "c"))
        await pilot.pause()
        asked: list[tuple[Region, ...]] = []
        refresh = table.refresh
        monkeypatch.setattr(table, "refresh", lambda *regions: (asked.append(regions), refresh(*regions))[1])
        table.set_rows(rows("a", "new", "c"))
        await pilot.pause()
        assert [[region.y for region in regions] for regions in asked] == [[2]]
        assert [line.split()[-1] for line in painted(app)[1:4]] == ["a", "new", "c"]


async def test_rows_that_come_go_or_match_no_more_are_arranged_anew() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.query_one(RowTable)
        table.set_rows(rows("a", "b", "c"))
        await pilot.pause()
        table.select("r2")
        table.set_rows(rows("a", "b"))
        await pilot.pause()
        assert (table.shown, table.key) == (2, "r1")
        table.action_sort_turn()
        await pilot.pause()
        table.set_rows(rows("a", "z"))
        await pilot.pause()
        assert [line.split()[-1] for line in painted(app)[1:3]] == ["z", "a"]
        assert table.key == "r1"


async def test_other_columns_take_the_rows_away() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.query_one(RowTable)
        table.set_rows(rows("a"))
        table.set_columns((Column("Only", 10),))
        await pilot.pause()
        assert (table.total, table.key) == (0, None)
        assert painted(app)[0].split() == ["Only"]


async def test_a_view_of_as_many_lines_paints_those_that_changed_where_they_stand() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.query_one("#lines", LinesView)
        view.set_lines([[Span(f"line {number}")] for number in range(20)])
        await pilot.pause()
        view.scroll_to(0, 5, animate=False)
        await pilot.pause()
        view.set_lines(
            [[Span(f"{'new' if number == 6 else 'line'} {number}")] for number in range(20)], keep_scroll=True
        )
        await pilot.pause()
        text = "\n".join(painted(app))
        assert view.scroll_offset.y == 5
        assert "new 6" in text
        assert "line 5" in text
