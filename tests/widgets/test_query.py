from __future__ import annotations

import pytest

from edgelab.widgets.query import Query


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("", "anything", True),
        ("conv", "Conv2d", True),
        ("conv mobile", "mobile conv", True),
        ("conv mobile", "conv only", False),
        ("!conv", "softmax", True),
        ("!conv", "a CONV", False),
        ("mobile !conv", "mobile softmax", True),
        ("!", "anything", True),
    ],
)
def test_matches(query: str, text: str, matches: bool) -> None:
    assert Query(query).matches(text) is matches


def test_an_empty_query_is_false() -> None:
    assert not Query("  ")
    assert not Query("!")
    assert Query("x")
