from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.screens.device_card import HostHistory, device_card
from edgelab.screens.lab import LabScreen
from edgelab.widgets.spans import text_of, width
from tests.support import ui_data
from tests.support.ui import app_over, fixed, until

FULL = HostHistory(ui_data.HOST, (3.4e9, 3.5e9), (20.0, 90.0))


@pytest.mark.parametrize("cells", [60, 78, 158])
@pytest.mark.parametrize("plot_rows", [0, 12])
def test_the_card_fits_and_has_each_reading_with_its_unit(cells: int, plot_rows: int) -> None:
    lines = device_card(ui_data.LOCAL, FULL, ui_data.NOW_S, cells, plot_rows=plot_rows)
    assert all(width(line) <= cells for line in lines)
    text = text_of(lines)
    for said in (
        "Xeon",
        "3.5 GHz of 3.9 GHz max",
        "performance",
        "— unknown",
        "1.42",
        "37 %",
        "11.0 GiB free",
    ):
        assert said in text


def test_a_machine_that_tells_nothing_shows_unknown_and_no_zero() -> None:
    bare = HostHistory(type(ui_data.HOST)(sampled_s=ui_data.NOW_S), (None,), (None,))
    text = text_of(device_card(ui_data.LOCAL, bare, ui_data.NOW_S, 78))
    assert text.count("— unknown") >= 5
    assert "0.0 GHz" not in text
    assert " 0 %" not in text


def test_old_values_look_old() -> None:
    text = text_of(device_card(ui_data.LOCAL, FULL, ui_data.NOW_S + 90, 78))
    assert "stale, read 1 min ago" in text


def test_a_simulated_device_is_marked() -> None:
    device = msgspec.structs.replace(ui_data.LOCAL, name="sim-orin", simulated=True)
    assert "simulated" in text_of(device_card(device, FULL, ui_data.NOW_S, 78))


async def test_the_host_is_sampled_only_while_the_screen_is_on_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgelab.screens.lab.SAMPLE_S", 0.01)
    app = app_over(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: fixed(app).host_samples > 3)
        assert isinstance(app.screen, LabScreen)
        await pilot.press("4")
        await until(pilot, lambda: not any(w.group == "sample" and w.is_running for w in app.workers))
        before = fixed(app).host_samples
        # Another screen's work goes through the same thread, so a late sample would be seen.
        await pilot.press("2")
        await until(pilot, lambda: app.current_mode == "tasks" and app.screen.is_mounted)
        await app.aside(lambda: None)
        assert fixed(app).host_samples == before
        await pilot.press("1")
        await until(pilot, lambda: fixed(app).host_samples > before)
