"""Our two themes, and palette names (`muted`, `good bold`) turned into Rich styles."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

if TYPE_CHECKING:
    from rich.color import Color as RichColor
    from textual.app import App

DARK = "edgelab-dark"
LIGHT = "edgelab-light"

VARIABLE_DEFAULTS: dict[str, str] = {
    "muted": "#8b949e",
    "faint": "#6e7681",
    "line": "#3d444d",
    "cursor": "#2a3442",
    "baseline": "#c9a26d",
    "band": "#26323f",
    "on-mark": "#101418",
}
"""Our own colour variables for themes that do not define them."""


def themes() -> tuple[Theme, Theme]:
    """Return the dark and the light theme."""
    return _dark(), _light()


def _dark() -> Theme:
    return Theme(
        name=DARK,
        primary="#6cb6c4",
        secondary="#8aa4c8",
        accent="#6cb6c4",
        foreground="#d5dae1",
        background="#11151a",
        surface="#171c23",
        panel="#1e252e",
        success="#84bd8d",
        warning="#dcae62",
        error="#e57f7f",
        dark=True,
        variables={
            "muted": "#8f9baa",
            "faint": "#677484",
            "line": "#303a46",
            "cursor": "#26384a",
            "baseline": "#d0a36b",
            "band": "#22303a",
            "on-mark": "#11151a",
            "scrollbar": "#303a46",
            "scrollbar-hover": "#465464",
            "scrollbar-active": "#6cb6c4",
            "scrollbar-background": "#11151a",
            "scrollbar-background-hover": "#11151a",
            "scrollbar-background-active": "#11151a",
        },
    )


def _light() -> Theme:
    return Theme(
        name=LIGHT,
        primary="#1f7282",
        secondary="#4a6690",
        accent="#1f7282",
        foreground="#232a32",
        background="#f7f6f2",
        surface="#efede7",
        panel="#e6e3db",
        success="#2f7a3d",
        warning="#8f6206",
        error="#b03a3a",
        dark=False,
        variables={
            "muted": "#5d6672",
            "faint": "#7f8791",
            "line": "#cfcabf",
            "cursor": "#d3e3e6",
            "baseline": "#8a5a1c",
            "band": "#e0ebe9",
            "on-mark": "#ffffff",
            "scrollbar": "#cfcabf",
            "scrollbar-hover": "#b3ada0",
            "scrollbar-active": "#1f7282",
            "scrollbar-background": "#f7f6f2",
            "scrollbar-background-hover": "#f7f6f2",
            "scrollbar-background-active": "#f7f6f2",
        },
    )


_ROLES = {
    "text": "foreground",
    "title": "foreground",
    "accent": "primary",
    "info": "secondary",
    "good": "success",
    "warn": "warning",
    "bad": "error",
    "candidate": "primary",
    "baseline": "baseline",
    "muted": "muted",
    "faint": "faint",
    "line": "line",
    "mark": "on-mark",
    "cursor": "cursor",
    "panel": "panel",
    "surface": "surface",
    "band": "band",
    "keyword": "secondary",
    "string": "success",
    "number": "baseline",
    "function": "primary",
}
_MODIFIERS = {"bold", "italic", "underline", "reverse"}


class Palette:
    """Styles of one theme by name: a colour role, modifiers, and `on:ROLE` for a background."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables
        self._styles: dict[tuple[str, str], Style] = {}

    def style(self, name: str, action: str = "") -> Style:
        """Return the style for a name such as `good bold` or `mark on:bad`. Raises KeyError if unknown."""
        key = (name, action)
        if (style := self._styles.get(key)) is None:
            style = self._styles[key] = self._build(name, action)
        return style

    def _build(self, name: str, action: str) -> Style:
        values: dict[str, Any] = {}
        for token in name.split():
            if token in _MODIFIERS:
                values[token] = True
            elif token.startswith("on:"):
                values["bgcolor"] = self._colour(token[3:])
            else:
                values["color"] = self._colour(token)
        style = Style(**values)
        return style + Style.from_meta({"@click": action}) if action else style

    def _colour(self, role: str) -> RichColor:
        value = self._variables[_ROLES[role]]
        # Themes may say `#rrggbb`, `#rrggbbaa`, or `ansi_blue`: a colour of the terminal's own.
        return Color.parse(value[:7] if value.startswith("#") else value).rich_color


@lru_cache(maxsize=8)
def _palette(theme: str, variables: tuple[tuple[str, str], ...]) -> Palette:
    return Palette(dict(variables))


def palette_of(app: App[Any]) -> Palette:
    """Return the palette of the app's current theme."""
    variables = app.theme_variables
    wanted = sorted(set(_ROLES.values()))
    return _palette(app.theme, tuple((name, variables[name]) for name in wanted))
