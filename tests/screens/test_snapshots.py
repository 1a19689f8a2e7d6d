"""Each screen as a picture, at 80x24 and 160x48. Look at the report before accepting a change:
`pytest tests/screens/test_snapshots.py --snapshot-update`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from edgelab.app import EdgeLabApp
from edgelab.screens.device_card import HostHistory
from edgelab.screens.lab import LabScreen
from tests.support import ui_data, ui_tunings
from tests.support.ui import app_over, fixed, until

pytestmark = pytest.mark.usefixtures("calm")

SIZES = [(80, 24), (160, 48)]
RUNS = {
    "running": ui_data.running,
    "ok": ui_data.finished,
    "failed": ui_data.failed,
    "unstable": ui_data.unstable,
    "lost": ui_data.lost,
    "interrupted": ui_data.interrupted,
}


def settled(text: str, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return a step that presses `keys` and waits until `text` is on the screen."""

    async def wait(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, EdgeLabApp)
        await pilot.press(*keys)
        await until(
            pilot, lambda: text in "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        )
        # Two frames more: the layout of what has just appeared.
        await pilot.pause()
        await pilot.pause()

    return wait


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize(
    ("name", "keys", "text"),
    [
        ("lab", ("1",), "5 shows all"),
        ("tasks", ("2",), "not measured yet"),
        ("runner-empty", ("3",), "No run to show yet"),
        ("leka", ("4",), "not built yet"),
    ],
)
def test_screen(snap_compare, tmp_path: Path, size, name: str, keys: tuple[str, ...], text: str) -> None:  # type: ignore[no-untyped-def]
    assert snap_compare(app_over(tmp_path), run_before=settled(text, *keys), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
def test_results(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, ui_data.finished(), ui_data.failed(), ui_data.unstable(), watch=False)
    fixed(app).store.measured.append(ui_data.UNSTABLE)
    assert snap_compare(app, run_before=settled("260829-wob01", "5"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
def test_lab_with_a_run_under_way(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, ui_data.running(), ui_data.finished(), ui_data.failed(), watch=False)
    fixed(app).store.measured.append(ui_data.UNSTABLE)

    async def run(pilot: Pilot[None]) -> None:
        await settled("120/400")(pilot)
        screen = app.screen
        assert isinstance(screen, LabScreen)
        # Sampled once by now, and not again for an hour: a fixed history takes the place of that sample.
        screen._history = HostHistory(ui_data.HOST, ui_data.CLOCKS_HZ, ui_data.LOADS_PERCENT)
        screen._show_detail()
        await pilot.pause()

    assert snap_compare(app, run_before=run, terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize("state", RUNS)
def test_runner(snap_compare, tmp_path: Path, size, state: str) -> None:  # type: ignore[no-untyped-def]
    assert snap_compare(app_over(tmp_path, RUNS[state]()), run_before=settled("Verdict"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize("state", [ui_tunings.tuning, ui_tunings.tuned])
def test_tuning(snap_compare, tmp_path: Path, size, state: Callable[[], ui_data.Run]) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, state())
    assert snap_compare(app, run_before=settled("Outcome"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
def test_candidate_dialog(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    async def run(pilot: Pilot[None]) -> None:
        await settled("not measured yet", "2")(pilot)
        await settled("Candidate for", "c")(pilot)
        pilot.app.screen.query_one(Input).value = "/no/such/folder/kernel.py"
        await settled("No such file", "enter")(pilot)

    assert snap_compare(app_over(tmp_path), run_before=run, terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
def test_light_theme(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    async def run(pilot: Pilot[None]) -> None:
        await settled("✓ OK")(pilot)
        await settled("✓ OK", "t")(pilot)

    assert snap_compare(app_over(tmp_path, ui_data.finished()), run_before=run, terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "160x48"])
@pytest.mark.parametrize(
    ("key", "text"), [("question_mark", "Everywhere"), ("s", "Let it go on"), ("p", "260829-bad01")]
)
def test_dialog(snap_compare, tmp_path: Path, size, key: str, text: str) -> None:  # type: ignore[no-untyped-def]
    async def run(pilot: Pilot[None]) -> None:
        await settled("Verdict")(pilot)
        await settled(text, key)(pilot)

    app = app_over(tmp_path, ui_data.running(), ui_data.finished(), ui_data.failed(), ui_data.lost())
    assert snap_compare(app, run_before=run, terminal_size=size)
