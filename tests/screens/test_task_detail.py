from __future__ import annotations

from edgelab.bench.tasks import Catalogue, catalogue_root
from edgelab.screens.task_detail import COLUMNS, best_by_task, task_lines, task_rows
from edgelab.widgets.spans import text_of
from edgelab.widgets.table import needed_cells, visible_columns
from tests.support import ui_data


def test_the_best_is_the_fastest_valid_physical_ok_measurement() -> None:
    rows = [
        ui_data.measurement(1, "a", speedup=1.2),
        ui_data.measurement(2, "b", speedup=1.4),
        ui_data.measurement(3, "c", speedup=9.0, simulated=True),
        ui_data.measurement(4, "d", speedup=8.0, valid=False),
        ui_data.measurement(5, "e", speedup=7.0, verdict="unstable"),
    ]
    assert best_by_task(rows)[ui_data.TASK].run == "b"


def test_rows_have_a_cell_and_an_order_for_each_column() -> None:
    for row in task_rows(list(ui_data.TASKS), best_by_task(list(ui_data.MEASUREMENTS))):
        assert len(row.cells) == len(row.order) == len(COLUMNS)


def test_the_detail_tells_provenance_constants_best_and_source() -> None:
    task = ui_data.TASKS[2]
    best = ui_data.measurement(1, "a")
    text = text_of(task_lines(task, best, task.source(), ui_data.NOW_S, 90))
    for said in (
        "Pointwise convolution",
        "torchvision mobilenetv2.py",
        "OUT_CHANNELS 96",
        "1.308×",
        "class Model",
    ):
        assert said in text


def test_a_task_that_was_never_measured_says_so() -> None:
    assert "not measured yet" in text_of(task_lines(ui_data.TASKS[0], None, "x = 1", ui_data.NOW_S, 80))


def test_no_family_and_no_name_of_the_suite_is_cut_at_160_columns() -> None:
    rows = task_rows(list(Catalogue.load(catalogue_root()).specs), {})
    needed = needed_cells(rows, len(COLUMNS))
    # The list is 89 cells wide there, three of them the cursor's mark and the scroll bar.
    widths = dict(visible_columns(COLUMNS, 86, needed))
    assert all(widths[index] >= needed[index] for index in (0, 2))
