from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.app import EdgeLabApp
from edgelab.screens.device_line import device_line
from edgelab.screens.device_picker import DevicePicker
from edgelab.widgets.spans import text_of, width
from tests.support import ui_boards as boards
from tests.support.ui import FixedSources, fixed, until

pytestmark = pytest.mark.usefixtures("calm")


def painted(app: EdgeLabApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_run_goes_to_the_device_that_was_picked(tmp_path: Path, size: tuple[int, int]) -> None:
    sources = FixedSources(tmp_path)
    sources.lab = boards.BUILT_IN
    app = EdgeLabApp(sources)
    async with app.run_test(size=size) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: "Runs go to local" in painted(app) and "stem_conv_mnv2" in painted(app))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DevicePicker) and "sim-rk3588" in painted(app))
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: "Runs go to sim-rk3588" in painted(app))
        await pilot.press("enter")
        await until(pilot, lambda: fixed(app).asked == [("launch", "stem_conv_mnv2 on sim-rk3588")])


async def test_esc_leaves_the_choice_as_it_was(tmp_path: Path) -> None:
    sources = FixedSources(tmp_path)
    sources.lab = boards.BUILT_IN
    app = EdgeLabApp(sources)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: "Runs go to local" in painted(app))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DevicePicker))
        await pilot.press("j", "escape")
        await until(pilot, lambda: "Runs go to local" in painted(app))


@pytest.mark.parametrize("cells", [12, 30, 78, 158])
@pytest.mark.parametrize("device", boards.BUILT_IN)
def test_the_line_fits_and_keeps_its_key(device, cells: int) -> None:  # type: ignore[no-untyped-def]
    line = device_line(device, cells)
    assert width(line) <= cells
    if cells >= 30:
        assert "d chooses another" in text_of([line])


def test_a_simulated_device_is_said_to_be_one() -> None:
    assert "simulated: kernels run on this machine" in text_of([device_line(boards.SIM_ORIN, 100)])
