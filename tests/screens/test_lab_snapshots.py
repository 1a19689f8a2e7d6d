"""The Lab screen over many devices as pictures, at 80x24 and 160x48. Look at the report before accepting a change:
`pytest tests/screens/test_lab_snapshots.py --snapshot-update`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from edgelab.app import EdgeLabApp
from edgelab.lab.board_view import BoardView
from edgelab.lab.device import Device
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of
from tests.support import ui_boards as boards
from tests.support.ui import FixedFeed, FixedSources, fixed, until

pytestmark = pytest.mark.usefixtures("calm")

SIZES = [(80, 24), (160, 48)]
IDS = ["80x24", "160x48"]
RACK = boards.many(32)


def app_over(folder: Path, devices: Sequence[Device], views: Sequence[BoardView]) -> EdgeLabApp:
    sources = FixedSources(folder)
    sources.lab = tuple(devices)
    sources.boards = FixedFeed(views)
    return EdgeLabApp(sources)


def past(view: BoardView, second: int) -> BoardView:
    """Return how a board was some seconds ago: its GPU idle at first, its heat up and down."""
    state = view.state
    assert state is not None
    swing = 3 * math.sin(second / 9)
    clocks = (
        msgspec.structs.replace(clock, current_hz=306_000_000)
        if clock.kind == "gpu" and second > 30
        else clock
        for clock in state.clocks
    )
    zones = (msgspec.structs.replace(zone, celsius=zone.celsius + swing) for zone in state.temperatures)
    state = msgspec.structs.replace(
        state, read_s=state.read_s - second, clocks=tuple(clocks), temperatures=tuple(zones)
    )
    return msgspec.structs.replace(view, state=state)


def looks(*keys: str, text: str, after: Sequence[BoardView] = ()) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Return a step: a minute of history, `keys`, views that come after them, and `text` on the screen."""

    async def work(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, EdgeLabApp)

        def shows(words: str) -> bool:
            return words in "\n".join(strip.text for strip in app.screen._compositor.render_strips())

        cards = app.screen.query_one("#cards", LinesView)
        await until(pilot, lambda: shows("local") and "Newest results" in text_of(cards.lines))
        feed = fixed(app).boards
        views = list(feed.views().values())
        for second in range(60, 0, -1):
            feed.put(*(past(view, second) for view in views if view.state is not None))
        feed.put(*views)
        await pilot.press(*keys)
        feed.put(*after)
        await until(pilot, lambda: shows(text))
        await pilot.pause(0.15)
        await pilot.pause()

    return work


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_built_in_lab(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, boards.BUILT_IN, boards.built_in_views())
    assert snap_compare(app, run_before=looks(text="This machine"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize(
    ("downs", "text"),
    [
        (1, "sim-orin ─"),
        (2, "sim-rk3588 ─"),
        (3, "broke (Connection lost)"),
        (5, "It is in use"),
        (6, "u trusts this key"),
    ],
    ids=["ready", "not-ready", "lost-link", "in-use", "new-key"],
)
def test_mixed_lab(snap_compare, tmp_path: Path, size, downs: int, text: str) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, boards.MIXED, boards.mixed_views())
    assert snap_compare(app, run_before=looks(*"j" * downs, text=text), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_light_theme(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, boards.MIXED, boards.mixed_views())
    assert snap_compare(app, run_before=looks("j", "t", text="sim-orin ─"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_a_rack(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, RACK, boards.many_views(RACK))
    assert snap_compare(app, run_before=looks(*"j" * 9, text="orin-09 ─"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_detail_of_a_jetson_that_is_locked_just_now(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    locking = boards.orin_view(activity="lock", steps=boards.LOCK_STEPS[:3], lock=None)
    app = app_over(tmp_path, boards.BUILT_IN, [*boards.built_in_views()[:1], locking])
    assert snap_compare(app, run_before=looks("j", "enter", text="Locking"), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_session_check(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    views = boards.built_in_views()
    answers = [
        msgspec.structs.replace(views[0], check=boards.report("local", *boards.GOOD[:2])),
        boards.orin_view(),
        boards.rk3588_view(),
        msgspec.structs.replace(views[3], activity="check"),
    ]
    app = app_over(tmp_path, boards.BUILT_IN, views)
    step = looks("a", "c", text="NOT READY", after=answers)
    assert snap_compare(app, run_before=step, terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("j", "x", "x", "L"), "leave as it is"),
        ((*"jjjj", "p"), "sudo password of orin-roof"),
        (("n",), "Add a device"),
        (("question_mark",), "trust an unknown host key"),
    ],
    ids=["lock", "password", "add", "keys"],
)
def test_dialogs(snap_compare, tmp_path: Path, size, keys: tuple[str, ...], text: str) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, boards.MIXED, boards.mixed_views())
    assert snap_compare(app, run_before=looks(*keys, text=text), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_device_picker(snap_compare, tmp_path: Path, size) -> None:  # type: ignore[no-untyped-def]
    app = app_over(tmp_path, boards.BUILT_IN, boards.built_in_views())
    assert snap_compare(app, run_before=looks("2", "d", text="What it is"), terminal_size=size)
