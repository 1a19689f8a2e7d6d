from __future__ import annotations

from edgelab.widgets.highlight import python_lines
from edgelab.widgets.spans import text_of

SOURCE = 'import torch\n\n\ndef f(x):\n    """Say\n    more."""\n    return x + 1  # why\n'


def test_the_text_is_kept_line_by_line() -> None:
    assert text_of(python_lines(SOURCE)).rstrip("\n") == SOURCE.rstrip("\n")


def test_kinds_of_tokens_have_their_style() -> None:
    styles = {span.text: span.style for line in python_lines(SOURCE) for span in line}
    assert styles["import"] == "keyword"
    assert styles["f"] == "function bold"
    assert styles["1"] == "number"
    assert styles["# why"] == "faint italic"
