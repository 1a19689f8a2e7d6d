from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from edgelab.widgets.spans import (
    Span,
    beside,
    clean,
    clean_block,
    clip,
    fit,
    pad,
    rule,
    spread,
    text_of,
    width,
    wrap,
)

TEXT = st.text(alphabet="abc 日本é×", max_size=30)


@given(st.lists(TEXT.map(Span), max_size=5), st.integers(0, 40))
def test_fit_never_exceeds_its_room_and_pad_fills_it(line: list[Span], cells: int) -> None:
    assert width(fit(line, cells)) <= cells
    assert width(pad(line, cells)) == cells


@given(TEXT, st.integers(0, 20))
def test_clip_says_that_it_cut(text: str, cells: int) -> None:
    shown = clip(text, cells)
    assert cell_len(shown) <= cells
    assert shown == text or cells == 0 or shown.endswith("…")


@given(st.text(max_size=40))
def test_cleaned_text_has_no_control_characters(text: str) -> None:
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in clean(text))


def test_clean_keeps_plain_text_and_opens_tabs() -> None:
    assert clean("µs × é") == "µs × é"
    assert clean("a\tb\x1b[31m") == "a    b␛[31m"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("a\0b", "a␀b"),
        ("a\x7f", "a␡"),
        ("a\x9b31m", "a\N{REPLACEMENT CHARACTER}31m"),
        ("\u202egnp.exe", "\N{REPLACEMENT CHARACTER}gnp.exe"),
        ("a\u200bb\ufeff", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
        ("\udcff", "\N{REPLACEMENT CHARACTER}"),
        ("a\u00a0b", "a b"),
        ("[red]no markup[/]", "[red]no markup[/]"),
    ],
)
def test_what_acts_on_a_terminal_becomes_visible(raw: str, shown: str) -> None:
    assert clean(raw) == shown
    assert Span(raw).text == shown
    # Widths are those of what is shown, so that nothing beside it moves.
    assert width([Span(raw)]) == cell_len(shown) == len(shown)


@given(st.text(max_size=40))
def test_a_span_holds_only_what_can_be_printed_and_encoded(text: str) -> None:
    shown = Span(text).text
    assert shown.isprintable()
    assert shown.encode().decode() == shown


def test_a_block_keeps_its_lines() -> None:
    assert clean_block("a\x1b\nb\r") == "a␛\nb␍"


def test_spread_puts_both_ends_on_the_line() -> None:
    assert text_of([spread([Span("left")], [Span("right")], 12)]) == "left   right"


def test_spread_drops_the_right_end_where_there_is_no_room() -> None:
    assert text_of([spread([Span("a long left part")], [Span("right")], 14)]) == "a long left p…"


def test_rule_drops_a_note_that_would_push_the_title_out() -> None:
    assert text_of([rule("Log", 16, "following")]) == "Log ── following"
    assert "following" not in text_of([rule("Log", 8, "following")])


def test_beside_aligns_the_second_block() -> None:
    assert text_of(beside([[Span("a")], [Span("bb")]], [[Span("x")]], 3, 1)) == "a   x\nbb"


def test_wrap_breaks_at_spaces() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("", 10) == [""]
    assert wrap("a\nb", 10) == ["a", "b"]
