from __future__ import annotations

import msgspec
import pytest

from edgelab.drivers.device_state import DeviceState
from edgelab.screens.board_rows import BoardRows, board_row, device_columns
from edgelab.screens.board_words import need_of, note, state_span
from edgelab.widgets.table import Row, visible_columns
from tests.support import ui_boards as boards
from tests.support.ui_data import LOCAL, NOW_S

TITLES = [column.title for column in device_columns(boards.BUILT_IN)]


def texts(row: Row) -> dict[str, str]:
    return dict(zip(TITLES, (span.text for span in row.cells), strict=True))


def styles(row: Row) -> dict[str, str]:
    return dict(zip(TITLES, (span.style for span in row.cells), strict=True))


def test_a_row_has_each_number_with_its_target_or_unit() -> None:
    row = texts(board_row(boards.SIM_ORIN, boards.orin_view(), now_s=NOW_S))
    assert row["State"] == "● locked"
    assert row["Check"] == "✓ ready"
    assert (row["Mode"], row["GPU MHz"], row["CPU MHz"]) == ("MAXN", "1300/1300", "2202")
    assert (row["Temp"], row["Throttle"], row["Load"]) == ("46 °C", "never", "0.1")
    assert (row["Memory"], row["Disk"], row["Age"]) == ("53 GiB", "38 GiB", "now")


def test_what_is_unknown_is_a_dash_and_never_zero() -> None:
    bare = boards.view("sim-orin", DeviceState(read_s=NOW_S, round_trip_s=0.1))
    for view in (None, bare):
        row = texts(board_row(boards.SIM_ORIN, view, now_s=NOW_S))
        for title in ("Mode", "GPU MHz", "CPU MHz", "Mem MHz", "Temp", "Throttle", "Load", "Memory", "Disk"):
            assert row[title] == "—"


def test_a_lost_link_keeps_old_values_that_look_old_and_say_their_age() -> None:
    lost = boards.mixed_views()[3]
    row = board_row(boards.MIXED[3], lost, now_s=NOW_S)
    assert texts(row)["GPU MHz"] == "1300/1300"
    assert styles(row)["GPU MHz"] == styles(row)["Temp"] == "faint"
    assert (texts(row)["Age"], styles(row)["Age"]) == ("1 min", "warn")
    assert texts(row)["State"] == "✗ link lost"
    assert "broke" in texts(row)["What to know"]


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (2, "○ unlocked"),
        (4, "✗ lock lost"),
        (5, "▶ in use"),
        (6, "✗ new key"),
        (7, "✗ wrong key"),
    ],
)
def test_each_state_has_a_word_of_its_own(number: int, word: str) -> None:
    assert state_span(boards.mixed_views()[number]).text == word


def test_an_activity_comes_before_everything_else() -> None:
    view = boards.orin_view(activity="lock", steps=("power mode MAXN (0) is in force",))
    assert state_span(view).text == "… locking"
    assert note(view) == "power mode MAXN (0) is in force"


def test_a_holder_is_named() -> None:
    row = texts(board_row(boards.MIXED[5], boards.mixed_views()[5], now_s=NOW_S))
    assert row["Held by"] == "grace@desk"
    assert row["What to know"] == "held for run 260829-w3k9p"


def test_a_gpu_off_its_target_stands_out() -> None:
    row = board_row(boards.SIM_RK3588, boards.rk3588_view(), now_s=NOW_S)
    assert (texts(row)["GPU MHz"], styles(row)["GPU MHz"]) == ("300/1000", "warn")


def test_a_name_that_lies_about_its_kind_is_put_right() -> None:
    fake = msgspec.structs.replace(boards.SIM_ORIN, name="bench")
    real = msgspec.structs.replace(boards.MIXED[3], name="simone")
    assert texts(board_row(fake, None, now_s=NOW_S))["Device"].strip() == "bench sim"
    assert texts(board_row(real, None, now_s=NOW_S))["Device"].strip() == "simone real"
    assert texts(board_row(boards.SIM_ORIN, None, now_s=NOW_S))["Device"].strip() == "sim-orin"


def test_needs_go_by_the_kind_of_problem_and_not_by_its_words() -> None:
    new_key, wrong_key = boards.mixed_views()[6], boards.mixed_views()[7]
    said = msgspec.structs.replace(wrong_key, problem="its host key was never seen")
    assert need_of(boards.MIXED[6], new_key) == "trust"
    assert need_of(boards.MIXED[7], said) == ""
    assert need_of(boards.MIXED[4], boards.mixed_views()[4]) == "password"
    without = msgspec.structs.replace(boards.MIXED[4], sudo="none")
    assert need_of(without, boards.mixed_views()[4]) == ""


def test_all_columns_fit_160_cells_and_the_important_ones_80() -> None:
    columns = device_columns(boards.BUILT_IN)
    assert len(visible_columns(columns, 160 - 3)) == len(columns)
    narrow = {columns[index].title for index, _ in visible_columns(columns, 80 - 3)}
    assert {"Device", "State", "Check", "GPU MHz", "Temp", "Age"} <= narrow


def test_a_row_of_which_nothing_changed_is_the_same_object() -> None:
    maker = BoardRows()
    views = {view.device: view for view in boards.built_in_views()}

    def rows(now_s: float, marked: frozenset[str] = frozenset()) -> list[Row]:
        return maker.rows(boards.BUILT_IN, views, marked, LOCAL.name, now_s)

    first = rows(NOW_S)
    assert all(one is other for one, other in zip(first, rows(NOW_S + 0.2), strict=True))
    assert rows(NOW_S, frozenset({"sim-orin"}))[1] is not first[1]
    assert texts(rows(NOW_S + 7)[1])["Age"] == "7 s"
    views["sim-orin"] = boards.orin_view()
    assert texts(rows(NOW_S)[1])["State"] == "● locked"
