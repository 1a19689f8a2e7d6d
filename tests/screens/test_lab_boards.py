"""The Lab screen with boards: rows that tell what matters, details with reasons, keys that ask the monitor."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.app import EdgeLabApp
from edgelab.drivers.check import Check, CheckReport, Evidence
from edgelab.drivers.device_state import ClockDomain, DeviceState, LeaseHolder, PowerMode, Temperature
from edgelab.lab.board_view import BoardView
from edgelab.lab.device import Device
from edgelab.screens.dialogs import ConfirmDialog
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import RowTable
from tests.support import ui_data
from tests.support.ui import FixedSources, fixed, until

NOW_S = ui_data.NOW_S


def board(name: str, profile: str = "rk3588", **changes: object) -> Device:
    return Device(
        name=name, profile=profile, backend="llvm", title=f"Board {name}", host=f"{name}.lab", **changes
    )


def state(**changes: object) -> DeviceState:
    plain = DeviceState(
        read_s=NOW_S, round_trip_s=0.02, power_mode=PowerMode("MAXN", 0), load_1min=0.3,
        clocks=(ClockDomain(name="17000000.gpu", kind="gpu", current_hz=1_300_500_000, min_hz=1, max_hz=2),),
        temperatures=(Temperature("tj-thermal", 46.2),), memory_total_bytes=8 << 30, memory_available_bytes=5 << 30,
        lease_free=True, unknown=(("disk", "df did not end within its time limit"),),
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


UP = BoardView(device="orin", link="up", state=state(), lock_state="locked", gpu_target_hz=1_300_500_000)
NOT_READY = CheckReport(
    device="rock",
    checked_s=NOW_S - 3,
    checks=(
        Check(name="reachable", ok=True, value="20 ms"),
        Check(
            name="gpu_clock", ok=False, value="816 MHz", wanted="1000 MHz", reason="The GPU clock is capped at 816 MHz.",
            evidence=Evidence("/sys/class/devfreq/fb000000.gpu", "816000000", NOW_S),
        ),
    ),
)  # fmt: skip
LOST = BoardView(
    device="rock",
    link="lost",
    problem="The link to rock broke.",
    state=state(read_s=NOW_S - 90),
    check=NOT_READY,
)
UNKNOWN_KEY = BoardView(
    device="nano",
    link="failed",
    problem="nano: its host key was never seen: ssh-ed25519 SHA256:abc.",
    advice="Compare it.",
)
HELD = BoardView(
    device="held", link="up", polled=False,
    state=state(lease=LeaseHolder(owner="ann@desk", purpose="run r7", pid=7, since_s=NOW_S - 60)),
)  # fmt: skip
DEVICES = (ui_data.LOCAL, board("orin"), board("rock"), board("nano"), board("held"))


def lab_app(folder: Path, *views: BoardView, devices: tuple[Device, ...] = DEVICES) -> EdgeLabApp:
    sources = FixedSources(folder)
    sources.lab = devices
    sources.boards.put(*views)
    return EdgeLabApp(sources)


async def opened(app: EdgeLabApp, pilot) -> RowTable:
    await until(
        pilot,
        lambda: fixed(app).boards.started and app.screen.query_one(RowTable).total == len(fixed(app).lab),
    )
    return app.screen.query_one(RowTable)


def rows_of(app: EdgeLabApp) -> dict[str, str]:
    table = app.screen.query_one(RowTable)
    return {row.key: " | ".join(span.text for span in row.cells) for row in table._rows_shown}


def detail_of(app: EdgeLabApp) -> str:
    return text_of(app.screen.query_one("#cards", LinesView).lines)


@pytest.mark.usefixtures("calm")
async def test_a_row_tells_what_matters_now(tmp_path):
    app = lab_app(tmp_path, UP, LOST, UNKNOWN_KEY, HELD)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(app, pilot)
        rows = rows_of(app)
        assert "● locked" in rows["orin"]
        assert "1300/1300" in rows["orin"]
        assert "✗ link lost" in rows["rock"]
        assert "✗ not ready" in rows["rock"]
        assert "✗ no link" in rows["nano"]
        assert "▶ in use" in rows["held"]
        assert "ann@desk" in rows["held"]


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_detail_gives_reasons_sources_and_ages(tmp_path, size):
    app = lab_app(tmp_path, UP, LOST, UNKNOWN_KEY, HELD)
    async with app.run_test(size=size) as pilot:
        table = await opened(app, pilot)
        table.select("rock")
        await until(pilot, lambda: "The link to rock broke." in detail_of(app))
        text = detail_of(app)
        assert "The GPU clock is capped at 816 MHz." in text
        assert "fb000000.gpu" in text
        assert "stale, read 1 min ago" in text
        assert "— unknown" in text
        assert "df did not end" in text
        assert " 0 B" not in text
        table.select("held")
        await until(pilot, lambda: "run r7 of ann@desk" in detail_of(app))


@pytest.mark.usefixtures("calm")
async def test_keys_ask_for_the_marked_devices_else_for_the_one_under_the_cursor(tmp_path):
    app = lab_app(tmp_path, UP, LOST)
    async with app.run_test(size=(100, 30)) as pilot:
        table = await opened(app, pilot)
        boards = fixed(app).boards
        table.select("orin")
        await pilot.press("c")
        await until(pilot, lambda: boards.asked == [("check", "orin")])
        await pilot.press("x", "x", "c")
        await until(pilot, lambda: boards.asked[1:] == [("check", "orin"), ("check", "rock")])
        await pilot.press("R")
        await until(pilot, lambda: boards.asked[3:] == [("restore", "orin"), ("restore", "rock")])
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("n")
        await until(pilot, lambda: not isinstance(app.screen, ConfirmDialog))
        assert len(boards.asked) == 5
        await pilot.press("L", "y")
        await until(pilot, lambda: boards.asked[5:] == [("lock", "orin"), ("lock", "rock")])


@pytest.mark.usefixtures("calm")
async def test_an_unknown_key_is_trusted_after_a_question_alone(tmp_path):
    app = lab_app(tmp_path, UNKNOWN_KEY, UP)
    async with app.run_test(size=(100, 30)) as pilot:
        table = await opened(app, pilot)
        table.select("orin")
        await pilot.press("u")
        assert fixed(app).boards.asked == []
        table.select("nano")
        await pilot.pause()
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: fixed(app).boards.asked == [("trust_key", "nano")])


@pytest.mark.usefixtures("calm")
async def test_new_views_keep_the_cursor_and_are_painted(tmp_path):
    app = lab_app(tmp_path, UP, LOST)
    async with app.run_test(size=(160, 48)) as pilot:
        table = await opened(app, pilot)
        table.select("rock")
        fixed(app).boards.put(
            msgspec.structs.replace(LOST, link="up", problem="", lock_state="lost", state=state())
        )
        await until(pilot, lambda: "✗ lock lost" in rows_of(app)["rock"])
        assert table.key == "rock"


@pytest.mark.usefixtures("calm")
async def test_the_monitor_ends_with_the_app(tmp_path):
    app = lab_app(tmp_path, UP)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
    assert fixed(app).boards.closed


@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_snapshot_of_a_lab_in_mixed_states(snap_compare, tmp_path, size):
    app = lab_app(tmp_path, UP, LOST, UNKNOWN_KEY, HELD)

    async def wait(pilot) -> None:
        table = await opened(app, pilot)
        table.select("rock")
        await until(pilot, lambda: "5 shows all" in detail_of(app) and "capped at 816" in detail_of(app))

    assert snap_compare(app, terminal_size=size, run_before=wait)
