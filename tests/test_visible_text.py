"""Nothing that acts on a terminal gets through, and nothing readable is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.visible_text import visible, visible_block


@given(st.text())
def test_what_comes_out_can_be_printed(text):
    assert visible(text).isprintable()
    assert all(line.isprintable() for line in visible_block(text).split("\n"))


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_readable_text_is_left_alone(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("a\rb", "a␍b"),
        ("a\tb", "a    b"),
        ("\x9b31m", "�31m"),
        ("\u202egnp.exe", "�gnp.exe"),
        ("a\u00a0b", "a b"),
        ("\x00", "␀"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("\ud800", "�"),
    ],
)
def test_examples(text, shown):
    assert visible(text) == shown


def test_a_block_keeps_its_lines():
    assert visible_block("a\x1b[2J\nb") == "a␛[2J\nb"
