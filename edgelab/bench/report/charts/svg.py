"""SVG elements as markup in which every text and attribute is escaped."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from edgelab.visible_text import visible

SERIES = 8
"""Number of colours: classes `s0` ... of the style sheet."""

DASHES = ("", "7 3", "2 2", "9 3 2 3", "4 2")
"""Dash patterns: colour is never all that tells two lines apart."""


def element(name: str, *children: Markup, **attributes: str | float | None) -> Markup:
    """Return `<name attributes>children</name>`.

    In attribute names `_` stands for `-`, and one at the end is dropped (`class_`). None leaves an
    attribute out.
    """
    written = [
        f'{key.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    opening = " ".join([name, *written])
    return Markup(f"<{opening}>{Markup().join(children)}</{name}>")


def text(content: str, x: float, y: float, class_: str = "label", **attributes: str | float | None) -> Markup:
    """Return a text at its baseline; its control characters become visible."""
    return element("text", escape(visible(content)), x=x, y=y, class_=class_, **attributes)


def title(content: str) -> Markup:
    """Return what a browser shows when the pointer is on the parent."""
    return element("title", escape(visible(content)))


def line(x1: float, y1: float, x2: float, y2: float, class_: str, **attributes: str | float | None) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, **attributes)


def polyline(points: Iterable[tuple[float, float]], class_: str, dash: str = "") -> Markup:
    """Return connected straight lines without a fill."""
    joined = " ".join(f"{_written(x)},{_written(y)}" for x, y in points)
    return element("polyline", points=joined, class_=class_, stroke_dasharray=dash or None)


def drawing(width: float, height: float, label: str, children: Iterable[Markup]) -> Markup:
    """Return the whole drawing, with `label` for those who cannot see it."""
    return element(
        "svg", title(label), *children,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_written(width)} {_written(height)}",
        width=width, height=height, role="img", aria_label=visible(label),
    )  # fmt: skip


def shortened(content: str, limit: int) -> str:
    """Return `content` cut to `limit` characters, with `…` where something is cut off."""
    shown = visible(content)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
