"""Text of candidates, task files and exceptions reaches the terminal as visible text, on every screen."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.app import EdgeLabApp
from edgelab.drivers.check import Check, Evidence, LockReport
from edgelab.drivers.device_state import LeaseHolder, PowerMode, Temperature
from edgelab.events import LogLine, RunFinished, StepFinished
from edgelab.screens.run_words import ended_words
from edgelab.widgets.bars import Banner
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import RowTable
from tests.support import ui_boards as boards
from tests.support import ui_data
from tests.support.ui import app_over, fixed, until

pytestmark = pytest.mark.usefixtures("calm")

HOSTILE = "\x1b[2J\x1b]52;c;cm0=\x07[red]R[/red]\u202eabc\0\x9b31m\r\n\u200bend"


def hostile_run() -> ui_data.Run:
    run = ui_data.failed()
    result = run.record.result
    assert result is not None
    failure = msgspec.structs.replace(
        result.failure, message=HOSTILE, detail=HOSTILE, advice=HOSTILE, failure_class="numeric"
    )
    result = msgspec.structs.replace(result, failure=failure, task=HOSTILE, device=HOSTILE)
    last = run.events[-1]
    for offset, body in enumerate(
        (
            LogLine(source="w\x1b", level="error", text=HOSTILE),
            StepFinished(step="verify", ok=False, elapsed_s=1.0, summary=HOSTILE),
            RunFinished(result=result),
        )
    ):
        run.events.append(msgspec.structs.replace(last, id=last.id + offset + 1, body=body))
    run.record = msgspec.structs.replace(
        run.record, task=HOSTILE, result=result, candidate_path=f"/tmp/{HOSTILE}.py", device="local"
    )
    return run


def hostile_tasks(folder: Path) -> list[object]:
    source = folder / "task.py"
    source.write_text(f'"""{HOSTILE}"""\n# {HOSTILE}\nx = "{HOSTILE}"\n')
    task = msgspec.structs.replace(
        ui_data.TASKS[0], name=HOSTILE, title=HOSTILE, family=HOSTILE, provenance=HOSTILE, path=source
    )
    return [msgspec.structs.replace(task, constants={HOSTILE: 1}), *ui_data.TASKS]


def painted(app: EdgeLabApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


def assert_harmless(app: EdgeLabApp) -> None:
    for line in painted(app).split("\n"):
        assert line.isprintable(), repr(line)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_no_screen_lets_a_control_character_through(tmp_path: Path, size: tuple[int, int]) -> None:
    app = app_over(tmp_path, hostile_run())
    sources = fixed(app)
    sources.tasks = lambda: hostile_tasks(tmp_path)  # type: ignore[method-assign, assignment, return-value]
    sources.store.measured.append(ui_data.measurement(9, "x", task=HOSTILE, created_s=ui_data.NOW_S))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "✗ FAILED" in painted(app))
        assert "[red]R[/red]" in painted(app)
        for key in ("3", "1", "2", "5", "4"):
            await pilot.press(key)
            await until(pilot, lambda: bool(painted(app).strip()))
            if key in "25":
                await until(pilot, lambda: app.screen.query_one(RowTable).total > 0)
                await pilot.pause(0.05)
            assert_harmless(app)
        await pilot.press("3", "p")
        await until(pilot, lambda: app.screen.query_one(RowTable).total == 1)
        assert_harmless(app)
        assert "␛[2J" in painted(app)


async def test_notifications_and_banners_show_text_and_no_markup(tmp_path: Path) -> None:
    app = app_over(tmp_path, hostile_run())
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await until(pilot, lambda: app.snapshot is not None)
        assert app.snapshot is not None
        app.notify(ended_words(app.snapshot), title=HOSTILE)
        app.screen.notify("[bold]plain[/bold]")
        app.screen.query_one(Banner).say(HOSTILE)
        await until(pilot, lambda: "[bold]plain[/bold]" in painted(app) and "␛]52" in painted(app))
        assert_harmless(app)
        for notice in app._notifications:
            assert all(line.isprintable() for line in notice.message.split("\n"))
            assert notice.title.isprintable()
            assert not notice.markup


async def test_what_is_copied_from_a_run_is_harmless_too(tmp_path: Path) -> None:
    app = app_over(tmp_path, hostile_run())
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: "✗ FAILED" in painted(app))
        await pilot.press("y")
        assert "␛[2J" in app.clipboard
        assert all(line.isprintable() for line in app.clipboard.split("\n"))


async def test_an_exception_with_control_characters_is_shown_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_over(tmp_path)

    def broken() -> object:
        raise RuntimeError(HOSTILE + "\udcff")

    monkeypatch.setattr(fixed(app), "tasks", broken)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: "Internal error" in painted(app))
        assert_harmless(app)
        assert "\\udcff" in (tmp_path / "logs" / "app.log").read_text()


async def test_an_error_is_shown_though_the_log_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_over(tmp_path)
    (tmp_path / "logs").write_text("a file where the folder should be")
    monkeypatch.setattr(fixed(app), "tasks", lambda: 1 / 0)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: "ZeroDivisionError" in painted(app))
        assert app.is_running


async def test_boards_cannot_reach_the_terminal(tmp_path: Path) -> None:
    hostile = boards.orin_state(
        model=HOSTILE,
        power_mode=PowerMode(HOSTILE, 0),
        lease=LeaseHolder(owner=HOSTILE, purpose=HOSTILE, pid=1, since_s=ui_data.NOW_S),
        temperatures=(Temperature(HOSTILE, 46.0, HOSTILE),),
        throttle_counts=((HOSTILE, 1),),
        unknown=(("memory_clock", HOSTILE),),
    )
    check = Check(
        name=HOSTILE,
        ok=False,
        value=HOSTILE,
        wanted=HOSTILE,
        reason=HOSTILE,
        evidence=Evidence(HOSTILE, HOSTILE, 1.0),
    )
    view = boards.orin_view(
        state=hostile,
        problem=HOSTILE,
        advice=HOSTILE,
        steps=(HOSTILE,),
        check=boards.report("sim-orin", check),
        lock=LockReport(device="sim-orin", locked=False, problem=HOSTILE, advice=HOSTILE),
    )
    app = app_over(tmp_path)
    fixed(app).lab = boards.BUILT_IN
    fixed(app).boards.put(view, boards.rk3588_view())
    async with app.run_test(size=(160, 48)) as pilot:
        await until(pilot, lambda: app.screen.query_one(RowTable).total == len(boards.BUILT_IN))
        await pilot.press("j", "x", "x", "c")
        await until(pilot, lambda: "Session check" in painted(app))
        assert_harmless(app)
        app.screen.query_one(RowTable).select("sim-orin")
        cards = app.screen.query_one("#cards", LinesView)
        await until(pilot, lambda: "Last lock" in text_of(cards.lines))
        assert_harmless(app)
        cards.scroll_end(animate=False)
        await pilot.pause()
        assert_harmless(app)
        await pilot.press("y")
        await pilot.pause()
        assert_harmless(app)
