"""Loads of GPU and NPU."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.loads import RatedLoad, read_npu_load, read_permille_load, read_rated_load


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0@300000000Hz\n", RatedLoad(0, 300000000)),
        ("100@1000000000Hz\r\n", RatedLoad(100, 1000000000)),
        ("63@900000000", RatedLoad()),
        ("63", RatedLoad()),
        ("", RatedLoad()),
    ],
)
def test_a_load_at_a_clock(text: str, wanted: RatedLoad):
    assert read_rated_load(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("0\n", 0.0), ("1000", 100.0), ("5", 0.5), ("1001", None), ("-1", None), ("", None)]
)
def test_a_load_in_thousandths(text: str, wanted: float | None):
    assert read_permille_load(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("NPU load:  Core0:  0%, Core1: 100%,\n", (0, 100)),
        ("NPU load:  21%\n", (21,)),
        ("NPU load:  Core0: ", ()),
        ("", ()),
    ],
)
def test_a_load_by_core(text: str, wanted: tuple[int, ...]):
    assert read_npu_load(text) == wanted
