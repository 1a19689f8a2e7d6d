"""The loop of debugging one task: choose a candidate file, run it, see the error, edit, run it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from edgelab.screens.candidate_dialog import CandidateDialog, continued
from edgelab.screens.runner import RunnerScreen
from edgelab.widgets.table import RowTable
from tests.support import ui_data
from tests.support.ui import app_over, fixed, until

pytestmark = pytest.mark.usefixtures("calm")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text("# TVMScript")
    return path


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "binary.py"
    path.write_bytes(b"\xff\x00")
    return path


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_candidate_file_is_asked_for_and_run(
    tmp_path: Path, kernel: Path, size: tuple[int, int]
) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: app.screen.query_one(RowTable).total > 0)
        await pilot.press("c")
        assert isinstance(app.screen, CandidateDialog)
        app.screen.query_one(Input).value = str(kernel)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runner")
        assert fixed(app).asked == [("launch", "stem_conv_mnv2 on local with kernel.py")]
        # The next time the same file is offered.
        await pilot.press("2", "c")
        assert app.screen.query_one(Input).value == str(kernel)
        await pilot.press("escape")
        assert app.current_mode == "tasks"
        assert len(fixed(app).asked) == 1


async def test_a_file_that_cannot_be_read_is_told_and_the_dialog_stays(tmp_path: Path, binary: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: app.screen.query_one(RowTable).total > 0)
        await pilot.press("c", "enter")
        dialog = app.screen
        assert isinstance(dialog, CandidateDialog)
        await until(pilot, lambda: "No candidate file is named" in dialog.problem)
        await pilot.press(*"x.py", "enter")
        await until(pilot, lambda: "x.py cannot be read: No such file" in dialog.problem)
        await pilot.press("backspace")
        await until(pilot, lambda: dialog.problem == "")
        dialog.query_one(Input).value = str(binary)
        await pilot.press("enter")
        await until(pilot, lambda: "is not UTF-8 text" in dialog.problem)
        assert app.screen is dialog
        assert fixed(app).asked == []


async def test_tab_completes_the_path(tmp_path: Path, kernel: Path) -> None:
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: app.screen.query_one(RowTable).total > 0)
        await pilot.press("c")
        field = app.screen.query_one(Input)
        field.value = f"{tmp_path}/"
        await pilot.press("end", "k")
        await until(pilot, lambda: field._suggestion == str(kernel))
        await pilot.press("tab")
        assert field.value == str(kernel)


def test_paths_go_on_with_the_first_entry_and_folders_end_in_a_slash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("b.py", "a.py", ".hidden"):
        (tmp_path / name).touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert continued(f"{tmp_path}/") == f"{tmp_path}/a.py"
    assert continued("~/fo") == "~/folder/"
    assert continued("b") == "b.py"
    assert continued(f"{tmp_path}/.h") == f"{tmp_path}/.hidden"
    for nothing in ("", "zz", "/no/such/folder/x", "a\0/b", "~nobody-of-this-name/"):
        assert continued(nothing) is None


async def test_r_runs_the_same_again_once_the_run_has_ended(tmp_path: Path) -> None:
    app = app_over(tmp_path, ui_data.failed())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunnerScreen) and app.screen.snapshot is not None)
        await pilot.press("r")
        await until(pilot, lambda: fixed(app).asked == [("again", "260829-bad01")])
        screen = app.screen
        assert isinstance(screen, RunnerScreen)
        await until(pilot, lambda: screen.snapshot is not None and screen.snapshot.state == "running")
        # A run under way is not started twice by a second press.
        await pilot.press("r")
        await app.aside(lambda: None)
        assert len(fixed(app).asked) == 1
