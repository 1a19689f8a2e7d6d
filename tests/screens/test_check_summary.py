from __future__ import annotations

import pytest

from edgelab.screens.check_summary import counts, summary_lines, summary_text, verdicts
from edgelab.widgets.spans import text_of, width
from tests.support import ui_boards as boards
from tests.support.ui_data import NOW_S

VIEWS = {view.device: view for view in boards.mixed_views()}
ASKED = {
    "sim-orin": 0.0,
    "sim-rk3588": 0.0,
    "orin-bench": 0.0,
    "orin-roof": 0.0,
    "rock-new": 0.0,
    "gone": 0.0,
}


def test_one_verdict_each_with_its_reason() -> None:
    found = {verdict.device: verdict for verdict in verdicts(ASKED, VIEWS)}
    assert {name: verdict.answer for name, verdict in found.items()} == {
        "sim-orin": "ready",
        "sim-rk3588": "not ready",
        "orin-bench": "not ready",
        "orin-roof": "checking",
        "rock-new": "not ready",
        "gone": "checking",
    }
    assert found["sim-rk3588"].reason.endswith("simple_ondemand. (+2)")
    assert "broke" in found["orin-bench"].reason
    assert "never seen" in found["rock-new"].reason


def test_the_check_from_before_is_no_answer() -> None:
    before_s = NOW_S - 12
    (found,) = verdicts({"sim-orin": before_s}, VIEWS)
    assert found.answer == "checking"
    fresh = {"sim-orin": boards.orin_view(check=boards.report("sim-orin", *boards.GOOD, age_s=1.0))}
    (found,) = verdicts({"sim-orin": before_s}, fresh)
    assert found.answer == "ready"


@pytest.mark.parametrize("cells", [40, 78, 158])
@pytest.mark.parametrize("folded", [False, True])
def test_the_panel_fits(cells: int, folded: bool) -> None:
    lines = summary_lines(verdicts(ASKED, VIEWS), cells, folded=folded)
    assert all(width(line) <= cells for line in lines)
    assert len(lines) == (1 if folded else 1 + len(ASKED))


def test_the_panel_counts_and_names() -> None:
    found = verdicts(ASKED, VIEWS)
    assert counts(found) == "1 ready, 3 not ready, 2 checking"
    text = text_of(summary_lines(found, 158, folded=False))
    assert "✓ READY      sim-orin" in text
    assert "✗ NOT READY  sim-rk3588" in text
    assert "… checking   orin-roof" in text


def test_the_copied_text_has_all_reasons() -> None:
    text = summary_text(verdicts(ASKED, VIEWS))
    assert "sim-orin: READY\n" in text
    for check in (boards.UNLOCKED, boards.BUSY, boards.FULL):
        assert f"\n  {check.reason}" in text
