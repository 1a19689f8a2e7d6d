from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from edgelab.widgets.palette import DARK, VARIABLE_DEFAULTS, palette_of, themes
from edgelab.widgets.query import Query
from edgelab.widgets.spans import Span
from edgelab.widgets.table import Column, Row, RowTable, needed_cells, sort_rows, visible_columns

COLUMNS = (
    Column("Name", 8, priority=0, grow=True),
    Column("Value", 6, priority=1, right=True),
    Column("Note", 10, 2),
)


def row(key: str, value: float | None) -> Row:
    return Row(
        key, (Span(key), Span("—" if value is None else str(value)), Span("note")), (key, value, "note"), key
    )


ROWS = [row("beta", 2.0), row("alpha", None), row("gamma", 1.0)]


class TableApp(App[None]):
    CSS = "RowTable { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLE_DEFAULTS

    def compose(self) -> ComposeResult:
        self.register_theme(themes()[0])
        self.theme = DARK
        yield RowTable(COLUMNS)

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        self.chosen.append(event.key)


def names(app: App[None]) -> list[str]:
    table = app.query_one(RowTable)
    lines = [table.render_line(y).text for y in range(1, table.size.height)]
    return [line[2:].split()[0] for line in lines if line.strip(" │┃")]


@pytest.mark.parametrize(("cells", "kept"), [(40, [0, 1, 2]), (20, [0, 1]), (9, [0])])
def test_columns_give_way_by_priority(cells: int, kept: list[int]) -> None:
    visible = visible_columns(COLUMNS, cells)
    assert [index for index, _ in visible] == kept
    assert sum(width for _, width in visible) + 2 * (len(visible) - 1) == cells


def test_room_goes_to_cut_columns_first_and_then_to_those_that_grow() -> None:
    assert visible_columns(COLUMNS, 40, [5, 6, 14]) == [(0, 16), (1, 6), (2, 14)]
    # Where there is too little, the most important column is served first.
    assert visible_columns(COLUMNS, 31, [10, 6, 14]) == [(0, 10), (1, 6), (2, 11)]
    assert visible_columns(COLUMNS, 28, [99, 99, 99]) == [(0, 8), (1, 6), (2, 10)]


def test_an_extra_column_gives_way_where_others_would_be_cut() -> None:
    columns = (*COLUMNS, Column("Id", 4, 5, extra=True))
    assert [index for index, _ in visible_columns(columns, 40, [8, 6, 14])] == [0, 1, 2, 3]
    assert visible_columns(columns, 38, [8, 6, 17, 4]) == [(0, 11), (1, 6), (2, 17)]


def test_the_widest_text_of_each_column_is_found() -> None:
    rows = [Row("a", (Span("日本"), Span("ab")), ("", "")), Row("b", (Span("x"), Span("abc")), ("", ""))]
    assert needed_cells(rows, 3) == [4, 3, 0]


async def test_a_long_text_is_whole_where_there_is_room_and_cut_where_there_is_none() -> None:
    async with TableApp().run_test(size=(60, 8)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows([Row("a", (Span("n"), Span("1"), Span("softmax_reduce_pool")), ("", 1, ""))])
        assert "softmax_reduce_pool" in table.render_line(1).text
        await pilot.resize_terminal(34, 8)
        await pilot.pause()
        assert "…" in table.render_line(1).text


async def test_a_cell_with_a_ground_of_its_own_keeps_it_under_the_cursor() -> None:
    async with TableApp().run_test(size=(40, 8)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows([Row("a", (Span("name", "mark on:warn"), Span("1"), Span("n")), ("", 1, ""))])
        table.focus()
        await pilot.pause()
        grounds = {segment.style.bgcolor for segment in table.render_line(1) if segment.style}
        assert {
            palette_of(pilot.app).style(f"text on:{role}").bgcolor for role in ("warn", "cursor")
        } <= grounds


def test_unknown_values_sort_last_in_both_orders() -> None:
    assert [row.key for row in sort_rows(ROWS, 1, False)] == ["gamma", "beta", "alpha"]
    assert [row.key for row in sort_rows(ROWS, 1, True)] == ["beta", "gamma", "alpha"]


async def test_the_cursor_stays_on_its_row_when_rows_move() -> None:
    async with TableApp().run_test(size=(40, 8)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows(ROWS)
        await pilot.press("down")
        assert table.key == "alpha"
        await pilot.press("s")
        assert names(pilot.app) == ["alpha", "beta", "gamma"]
        assert table.key == "alpha"
        table.set_rows([row("aaa", 3.0), *ROWS])
        assert table.key == "alpha"
        await pilot.press("S")
        assert names(pilot.app) == ["gamma", "beta", "alpha", "aaa"]
        assert table.key == "alpha"


async def test_sorting_goes_round_to_the_given_order() -> None:
    async with TableApp().run_test(size=(40, 8)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows(ROWS)
        await pilot.press("s", "s", "s")
        assert table.sorted_by == "by note ↑"
        await pilot.press("s")
        assert table.sorted_by == ""
        assert names(pilot.app) == ["beta", "alpha", "gamma"]


async def test_filter_and_emptiness_are_told_apart() -> None:
    async with TableApp().run_test(size=(40, 8)) as pilot:
        table = pilot.app.query_one(RowTable)
        assert "nothing here yet" in table.render_line(1).text
        table.set_rows(ROWS)
        table.filter(Query("!alpha"))
        assert names(pilot.app) == ["beta", "gamma"]
        table.filter(Query("zeta"))
        assert "nothing matches the filter" in table.render_line(1).text
        assert table.key is None


async def test_mouse_clicks_choose_and_sort() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 8)) as pilot:
        table = app.query_one(RowTable)
        table.set_rows(ROWS)
        await pilot.click(RowTable, offset=(5, 2))
        assert table.key == "alpha"
        await pilot.click(RowTable, offset=(5, 3), times=2)
        assert app.chosen == ["gamma"]
        await pilot.click(RowTable, offset=(4, 0))
        assert names(app) == ["alpha", "beta", "gamma"]
        await pilot.click(RowTable, offset=(4, 0))
        assert names(app) == ["gamma", "beta", "alpha"]


async def test_many_rows_scroll_with_the_cursor() -> None:
    async with TableApp().run_test(size=(40, 8)) as pilot:
        pilot.app.query_one(RowTable).set_rows([row(f"n{index:04}", 1.0) for index in range(1000)])
        await pilot.press("end")
        assert names(pilot.app)[-1] == "n0999"
        await pilot.press("pageup")
        assert names(pilot.app)[0] == "n0993"
        await pilot.press("home", "enter")
        assert pilot.app.chosen == ["n0000"]  # type: ignore[attr-defined]
