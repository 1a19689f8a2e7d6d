"""The report and the comparison in the Results screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from edgelab.app import EdgeLabApp
from edgelab.screens.report_dialog import ReportDialog
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import RowTable
from tests.support import ui_data
from tests.support.ui import app_over, calm, until

__all__ = ["calm"]
pytestmark = pytest.mark.usefixtures("calm")
SIZES = [(80, 24), (160, 48)]


def results(folder: Path) -> EdgeLabApp:
    runs = ui_data.finished(), ui_data.failed(), ui_data.unstable()
    return app_over(folder, *runs, watch=False, measured=False)


async def shown(app: EdgeLabApp, pilot: Pilot[None], *keys: str) -> str:
    """Press keys in the Results screen and return what the dialog says."""
    await pilot.press("5")
    await until(pilot, lambda: app.current_mode == "results" and app.screen.query_one(RowTable).shown == 3)
    await pilot.press(*keys)
    await until(
        pilot,
        lambda: isinstance(app.screen, ReportDialog) and len(app.screen.query_one(LinesView).lines) > 1,
    )
    return text_of(app.screen.query_one(LinesView).lines)


@pytest.mark.parametrize("size", SIZES)
async def test_v_shows_the_metrics_over_all_instances(tmp_path: Path, size: tuple[int, int]):
    app = results(tmp_path)
    async with app.run_test(size=size) as pilot:
        text = await shown(app, pilot, "v")
        assert "Physical devices" in text
        assert "CSR" in text
        assert "Fast@1.5" in text
        assert "missing" in text
        await pilot.press("escape")
        assert not isinstance(app.screen, ReportDialog)


async def test_the_report_is_of_what_the_filter_shows(tmp_path: Path):
    app = results(tmp_path)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("5")
        await until(
            pilot, lambda: app.current_mode == "results" and app.screen.query_one(RowTable).shown == 3
        )
        await pilot.press("slash", *"unstable", "enter")
        await until(pilot, lambda: app.screen.query_one(RowTable).shown == 1)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, ReportDialog))
        await until(pilot, lambda: len(app.screen.query_one(LinesView).lines) > 1)
        text = text_of(app.screen.query_one(LinesView).lines)
        assert "Failures" not in text, "the failed run is filtered away"


async def test_two_marked_results_are_compared(tmp_path: Path):
    app = results(tmp_path)
    async with app.run_test(size=(160, 48)) as pilot:
        text = await shown(app, pilot, "x", "j", "x", "c")
        assert "ratio" in text
        assert "→" in text, "what became of the verdict"


async def test_comparing_asks_for_two_marks(tmp_path: Path):
    app = results(tmp_path)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("5")
        await until(
            pilot, lambda: app.current_mode == "results" and app.screen.query_one(RowTable).shown == 3
        )
        await pilot.press("x", "c")
        assert not isinstance(app.screen, ReportDialog)
        await pilot.press("x")
        await pilot.press("x", "j", "x", "j", "x", "c")
        await until(pilot, lambda: isinstance(app.screen, ReportDialog))


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize("keys", [("v",), ("x", "j", "x", "c")], ids=["report", "compare"])
def test_picture(snap_compare, tmp_path: Path, size, keys: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    app = results(tmp_path)

    async def run(pilot: Pilot[None]) -> None:
        await shown(app, pilot, *keys)
        await pilot.pause()

    assert snap_compare(app, run_before=run, terminal_size=size)
