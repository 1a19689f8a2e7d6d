from __future__ import annotations

import msgspec

from edgelab.screens.result_rows import COLUMNS, outcome_lines, outcome_rows, outcomes
from edgelab.widgets.spans import text_of, width
from edgelab.widgets.table import visible_columns
from tests.support import ui_data

FOUND = outcomes(
    ui_data.MEASUREMENTS, [run().record for run in (ui_data.finished, ui_data.failed, ui_data.lost)]
)


def test_failed_runs_stand_beside_measurements_newest_first() -> None:
    assert [outcome.run for outcome in FOUND] == [
        "260829-bad01",
        "260829-ok001",
        "260829-soft1",
        "260829-deq01",
    ]


def test_a_run_without_a_verdict_is_no_result() -> None:
    assert "260829-gone1" not in {outcome.run for outcome in FOUND}


def test_rows_have_a_cell_and_an_order_for_each_column() -> None:
    for row in outcome_rows(FOUND, ui_data.NOW_S):
        assert len(row.cells) == len(row.order) == len(COLUMNS)


def test_simulated_rows_say_so_in_words_and_can_be_filtered() -> None:
    row = outcome_rows(FOUND, ui_data.NOW_S)[3]
    assert "(sim)" in " ".join(cell.text for cell in row.cells)
    assert "simulated" in row.searched


def test_the_detail_of_a_failure_has_class_message_and_advice() -> None:
    lines = outcome_lines(FOUND[0], 70)
    text = text_of(lines)
    assert "numeric: pw_expand_mnv2: output 0 differs" in text
    assert "Compare the program" in text
    assert all(width(line) <= 70 for line in lines)


def test_the_detail_of_a_measurement_has_its_numbers_with_units() -> None:
    text = text_of(outcome_lines(FOUND[2], 90))
    for said in ("109.5 µs", "0.897×", "[0.893, 0.901]", "rCV 2.8 %", "200 pairs", "625.0 KiB peak"):
        assert said in text


def test_an_invalid_measurement_is_marked() -> None:
    (found,) = outcomes([ui_data.measurement(1, "r", valid=False)], [])
    assert "invalid" in outcome_rows([found], ui_data.NOW_S)[0].cells[1].text
    assert "counts nowhere" in text_of(outcome_lines(found, 80))


UNSTABLE = outcomes([ui_data.UNSTABLE], [ui_data.unstable().record])[0]


def test_an_unstable_row_has_no_number_that_could_pass_for_a_result() -> None:
    (row,) = outcome_rows([UNSTABLE], ui_data.NOW_S)
    cells = {column.title: span for column, span in zip(COLUMNS, row.cells, strict=True)}
    assert cells["Verdict"].text == "≈ unstable"
    assert "on:warn" in cells["Verdict"].style
    assert (cells["Speed-up"].text, cells["95 %"].text, cells["Quality"].text) == ("—", "not counted", "none")
    assert row.order[2] is None


def test_the_detail_of_an_unstable_run_says_that_it_does_not_count() -> None:
    text = text_of(outcome_lines(UNSTABLE, 90))
    assert "UNSTABLE" in text
    assert "no speed-up is reported" in text
    assert "reached    1.29×" in text


def test_the_quality_word_is_shown_and_searched() -> None:
    strict, paired = outcome_rows(FOUND, ui_data.NOW_S)[1:3]
    assert (strict.cells[7].text, paired.cells[7].text) == ("strict", "paired")
    assert "paired" in paired.searched
    # At 80 columns it is still there.
    assert 7 in [index for index, _ in visible_columns(COLUMNS, 75)]


def test_an_invalid_row_has_no_speedup_either() -> None:
    (found,) = outcomes([ui_data.measurement(1, "r", valid=False)], [])
    (row,) = outcome_rows([found], ui_data.NOW_S)
    assert (row.cells[2].text, row.cells[3].text, row.order[2]) == ("—", "not counted", None)
    assert "invalid" in row.searched


def test_the_advice_of_a_failure_is_its_own_where_it_has_one() -> None:
    record = ui_data.failed().record
    assert record.result is not None
    assert record.result.failure is not None
    failure = msgspec.structs.replace(record.result.failure, advice="Swap the \x1b[31maxes.")
    result = msgspec.structs.replace(record.result, failure=failure)
    (found,) = outcomes([], [msgspec.structs.replace(record, result=result)])
    text = text_of(outcome_lines(found, 70))
    assert "Swap the ␛[31maxes." in text
    assert "Compare the program" not in text
