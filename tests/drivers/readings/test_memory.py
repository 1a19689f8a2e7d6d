"""/proc/meminfo and `free -h`."""

from __future__ import annotations

from edgelab.drivers.readings.memory import FreeTable, Meminfo, read_free, read_meminfo


def test_old_kernels_do_not_tell_what_is_available():
    assert read_meminfo("MemTotal:  2000 kB\nMemFree:  900 kB\n") == Meminfo(2000, None)


def test_a_number_that_was_cut_is_unknown():
    assert read_meminfo("MemTotal:       15589012 kB\nMemAvailable:    60104") == Meminfo(15589012, None)


def test_other_lines_are_not_meant():
    assert read_meminfo("SwapMemTotal: 5 kB\nMemAvailable:\n") == Meminfo()


def test_free_by_its_heads():
    old = "             total       used       free     shared    buffers     cached\nMem:          3.9G  1.1G  2.8G  20M  90M  600M\n"
    assert read_free(old) == FreeTable("3.9G", None)


def test_free_without_heads_or_values():
    assert read_free("Mem: 61Gi 4Gi\n") == read_free("") == FreeTable()
    assert read_free("        total   used  available\nMem:  61Gi\n") == FreeTable("61Gi", None)
