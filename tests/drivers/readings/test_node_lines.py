"""`grep -H` lines as nodes, and the errors of the tools that read them."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.node_lines import all_known, decimal, read_node_lines, whole


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("/sys/a/type:tj-thermal", "/sys/a/type", "tj-thermal"),
        ("/sys/a/freqs:300 400  ", "/sys/a/freqs", "300 400  "),
        (
            "/sys/class/devfreq/soc:qcom,gpubw/cur_freq:1525",
            "/sys/class/devfreq/soc:qcom,gpubw/cur_freq",
            "1525",
        ),
        ("/sys/a/name:dev/x", "/sys/a/name", "dev/x"),
        ("/sys/a/load:93@700000000Hz", "/sys/a/load", "93@700000000Hz"),
        ("/sys/a/empty:", "/sys/a/empty", ""),
    ],
)
def test_a_path_ends_at_the_colon_before_the_value(line: str, path: str, value: str):
    assert read_node_lines(f"{line}\n").values == {path: value}


@pytest.mark.parametrize(
    ("line", "path", "reason"),
    [
        ("cat: /sys/x: Permission denied", "/sys/x", "Permission denied"),
        ("grep: /sys/x: Resource temporarily unavailable", "/sys/x", "Resource temporarily unavailable"),
        ("cat: can't open '/sys/x': No such file or directory", "/sys/x", "No such file or directory"),
        ("sh: 1: cannot create /sys/x: Permission denied", "/sys/x", "Permission denied"),
        ("/system/bin/sh: can't create /sys/x: Permission denied", "/sys/x", "Permission denied"),
        ("bash: line 1: /sys/x: Invalid argument", "/sys/x", "Invalid argument"),
        ("cat: /sys/soc:qcom,a/b: Permission denied", "/sys/soc:qcom,a/b", "Permission denied"),
    ],
)
def test_errors_are_no_values(line: str, path: str, reason: str):
    nodes = read_node_lines(f"/sys/y:1\n{line}\n/sys/z:2\n")
    assert nodes.values == {"/sys/y": "1", "/sys/z": "2"}
    assert nodes.refused == {path: reason}


def test_lines_of_one_file_are_joined_and_other_lines_dropped():
    nodes = read_node_lines("/p/stat:cpu 1\r\nls: boost\r\n/p/stat:cpu0 1\r\n@ 12.5\r\n")
    assert nodes.values == {"/p/stat": "cpu 1\ncpu0 1"}
    assert nodes.refused == {}


def test_a_line_feed_alone_ends_a_line():
    assert read_node_lines("/a:1\x0b2\u20283\n").values == {"/a": "1\x0b2\u20283"}


@pytest.mark.parametrize("text", [None, "", " ", "1.5", "0x10", "1 2", "²", "٣", "1e3", "--1", "9" * 20])
def test_what_is_no_whole_number_is_unknown(text: str | None):
    assert whole(text) is None


@pytest.mark.parametrize("text", [None, "", "nan", "inf", "1e3", "1.", ".5", "1,5", "9" * 16])
def test_what_is_no_decimal_number_is_unknown(text: str | None):
    assert decimal(text) is None


def test_numbers_may_have_blanks_and_signs():
    assert (whole(" -0012\n"), decimal("-0.25\n")) == (-12, -0.25)


def test_one_no_decides_and_one_unknown_leaves_it_open():
    assert all_known(True, None, False) is False
    assert all_known(True, None) is None
    assert all_known(True, True) is True
