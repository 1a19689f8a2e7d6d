"""devfreq's table of transitions."""

from __future__ import annotations

from edgelab.drivers.readings.trans_stat import Transitions, read_trans_stat
from tests.drivers.readings.captures import text_of


def test_a_table_that_was_cut_has_no_total():
    found = read_trans_stat(text_of("trans_stat_gpu_glued.txt").partition("Total")[0])
    assert (found.current_hz, found.transitions) == (300000000, None)


def test_descending_tables_stay_as_they_are_shown():
    found = read_trans_stat(
        "     From  :   To\n*1000000000:   0   1   5\n  300000000:   1   0   9\nTotal transition : 2\n"
    )
    assert found == Transitions(1000000000, (1000000000, 300000000), 2)


def test_without_a_mark_the_present_point_is_unknown():
    assert read_trans_stat("  300000000:   0   1\n").current_hz is None


def test_a_node_without_statistics():
    assert read_trans_stat("Not Supported.\n") == read_trans_stat("") == Transitions(None, (), None)
