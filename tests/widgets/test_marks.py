from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.widgets.marks import bar, spark, thumb
from edgelab.widgets.spans import text_of, width


def test_spark_scales_between_its_limits_and_leaves_unknown_blank() -> None:
    assert spark([0.0, 50.0, None, 100.0], 4, 0.0, 100.0) == "▁▅ █"


def test_spark_keeps_the_newest_and_fills_from_the_left() -> None:
    assert spark([1.0] * 10, 3, 0.0, 1.0) == "███"
    assert spark([1.0], 3, 0.0, 1.0) == "  █"
    assert spark([1.0], 2, 1.0, 1.0) == " ▁"


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "────"), (0.5, "━━──"), (1.0, "━━━━"), (3.0, "━━━━"), (-1, "────")]
)
def test_bar(share: float, text: str) -> None:
    assert text_of([bar(share, 4)]) == text


@given(st.integers(1, 50), st.integers(0, 500), st.floats(0, 1))
def test_the_thumb_is_on_the_bar(rows: int, total: int, place: float) -> None:
    top = round(max(total - rows, 0) * place)
    column = "".join(thumb(row, rows, total, top).text for row in range(rows))
    assert width([thumb(0, rows, total, top)]) == 1
    assert ("┃" in column) == (total > rows)


def test_the_thumb_reaches_both_ends() -> None:
    assert thumb(0, 10, 100, 0).text == "┃"
    assert thumb(9, 10, 100, 90).text == "┃"
