from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from edgelab.widgets.spans import (
    Span,
    beside,
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


def test_a_span_is_as_wide_as_what_it_shows() -> None:
    # Nothing beside it moves.
    span = Span("\x1b]0;owned\x07\u202ea\tb")
    assert span.text == "␛]0;owned␇\N{REPLACEMENT CHARACTER}a    b"
    assert width([span]) == len(span.text)


@given(st.text(max_size=40))
def test_a_span_holds_only_what_can_be_printed_and_encoded(text: str) -> None:
    shown = Span(text).text
    assert shown.isprintable()
    assert shown.encode().decode() == shown


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
