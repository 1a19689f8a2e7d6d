"""Text of strangers made fit for a terminal: what acts on the terminal or hides becomes visible.

Candidates, task files and exceptions can carry escape sequences, carriage returns and direction marks.
"""

from __future__ import annotations

import unicodedata

_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421, 0x09: "    "}
"""Control characters by their pictures (ESC becomes ␛); a tab is four spaces."""


def visible(text: str) -> str:
    """Return `text` fit for one terminal line.

    Control characters become their pictures, other spaces a space. What else cannot be printed becomes `�`:
    right-to-left overrides, zero-width characters, halves of surrogate pairs.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def visible_block(text: str) -> str:
    """Return `text` of several lines with each line made fit."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if (picture := _PICTURES.get(ord(character))) is not None:
        return picture if isinstance(picture, str) else chr(picture)
    return " " if unicodedata.category(character) == "Zs" else "\N{REPLACEMENT CHARACTER}"
