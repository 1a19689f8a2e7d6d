from __future__ import annotations

from textual.app import App, ComposeResult

from edgelab.widgets.lines import LinesPanel, LinesView, to_strip
from edgelab.widgets.palette import DARK, VARIABLE_DEFAULTS, palette_of, themes
from edgelab.widgets.spans import Line, Span


class Counted(LinesPanel):
    """A panel that counts how often it is computed and painted."""

    def __init__(self) -> None:
        super().__init__(id="panel")
        self.said = "one"
        self.computed = 0
        self.refreshed = 0

    def lines(self, cells: int, rows: int) -> list[Line]:
        self.computed += 1
        return [[Span(f"{self.said} in {cells}x{rows}")]]

    def refresh(self, *args: object, **options: object) -> LinesPanel:
        self.refreshed = getattr(self, "refreshed", 0) + 1
        return super().refresh(*args, **options)  # type: ignore[arg-type]


class LinesApp(App[None]):
    CSS = "#panel { height: 3; } #view { height: 1fr; scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.resized = 0
        self.animation_level = "none"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLE_DEFAULTS

    def compose(self) -> ComposeResult:
        self.register_theme(themes()[0])
        self.theme = DARK
        yield Counted()
        yield LinesView(id="view")

    def on_lines_view_resized(self, event: LinesView.Resized) -> None:
        assert event.control is event.view
        self.resized += 1


def shown(view: LinesView) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


async def test_a_panel_is_repainted_only_when_its_lines_changed() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 8)) as pilot:
        panel = app.query_one(Counted)
        await pilot.pause()
        assert panel.render_line(0).text.rstrip() == "one in 30x3"
        assert panel.render_line(2).text.strip() == ""
        before = panel.refreshed
        panel.refresh_lines()
        assert panel.refreshed == before
        panel.said = "two"
        panel.refresh_lines()
        assert panel.refreshed == before + 1
        assert panel.render_line(0).text.startswith("two")


async def test_a_panel_is_laid_out_for_its_new_size() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 8)) as pilot:
        await pilot.resize_terminal(50, 8)
        await pilot.pause()
        assert app.query_one(Counted).render_line(0).text.startswith("one in 50x3")


async def test_a_view_scrolls_and_keeps_its_place_when_asked() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 8)) as pilot:
        view = app.query_one(LinesView)
        view.set_lines([[Span(f"line {index}")] for index in range(50)])
        view.focus()
        await pilot.pause()
        await pilot.press("G")
        await pilot.wait_for_scheduled_animations()
        assert shown(view)[-1] == "line 49"
        view.set_lines([[Span(f"new {index}")] for index in range(50)], keep_scroll=True)
        await pilot.pause()
        assert shown(view)[-1] == "new 49"
        view.set_lines([[Span("short")]])
        await pilot.pause()
        assert shown(view) == ["short", "", "", "", ""]


async def test_a_line_that_is_cut_says_so() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 8)) as pilot:
        view = app.query_one(LinesView)
        view.set_lines([[Span("x" * 30)], [Span("y" * 31)]])
        await pilot.pause()
        first, second = shown(view)[:2]
        assert first == "x" * 30
        assert second == "y" * 29 + "…"


async def test_a_view_says_when_its_lines_should_be_laid_out_anew() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 8)) as pilot:
        await pilot.pause()
        before, cells = app.resized, app.query_one(LinesView).cells
        await pilot.resize_terminal(50, 8)
        await pilot.pause()
        assert app.resized > before
        assert app.query_one(LinesView).cells == cells + 20
        assert cells == 29


async def test_a_strip_has_the_text_and_the_styles_of_its_line() -> None:
    app = LinesApp()
    async with app.run_test(size=(30, 8)):
        palette = palette_of(app)
        strip = to_strip([Span("a", "good bold"), Span("日本", "bad")], palette)
        assert (strip.text, strip.cell_length) == ("a日本", 5)
        assert strip._segments[0].style == palette.style("good bold")
