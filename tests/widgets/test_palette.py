from __future__ import annotations

import pytest
from textual.app import App
from textual.color import Color

from edgelab.widgets.palette import DARK, LIGHT, VARIABLE_DEFAULTS, Palette, palette_of, themes

ROLES = [
    "text",
    "title",
    "accent",
    "info",
    "good",
    "warn",
    "bad",
    "candidate",
    "baseline",
    "muted",
    "faint",
    "line",
    "mark",
    "cursor",
    "panel",
    "surface",
    "band",
    "keyword",
    "string",
    "number",
    "function",
]
READABLE = ("text", "accent", "info", "good", "warn", "bad", "candidate", "baseline", "muted")


class ThemedApp(App[None]):
    def __init__(self, theme: str) -> None:
        super().__init__()
        for ours in themes():
            self.register_theme(ours)
        self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLE_DEFAULTS


@pytest.mark.parametrize("theme", [DARK, LIGHT, "textual-dark", "nord", "ansi-dark", "ansi-light"])
async def test_each_role_has_a_colour_in_each_theme(theme: str) -> None:
    app = ThemedApp(theme)
    async with app.run_test():
        for role in ROLES:
            assert palette_of(app).style(f"{role} on:{role}").color is not None


@pytest.mark.parametrize("theme", [DARK, LIGHT])
async def test_what_is_read_stands_out_from_its_ground(theme: str) -> None:
    app = ThemedApp(theme)
    async with app.run_test():
        ground = Color.parse(app.theme_variables["background"])
        for role in READABLE:
            color = palette_of(app).style(role).color
            assert color is not None
            assert contrast(Color.from_rich_color(color), ground) >= 4.5, role


def contrast(one: Color, other: Color) -> float:
    """Return the WCAG contrast ratio."""

    def luminance(color: Color) -> float:
        parts = [part / 255 for part in color.rgb]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_style_has_its_modifiers_ground_and_action() -> None:
    palette = palette_of(ThemedApp(DARK))
    style = palette.style("mark on:bad bold", "app.quit")
    assert style.bold
    assert style.bgcolor == palette.style("bad").color
    assert style.meta == {"@click": "app.quit"}
    assert palette.style("mark on:bad bold", "app.quit") is style


def test_an_unknown_name_is_an_error_of_the_programmer() -> None:
    with pytest.raises(KeyError):
        Palette({"foreground": "#ffffff"}).style("no-such-role")
