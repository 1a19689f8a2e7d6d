"""The clock tree: the GPU's own row, and what it proves."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.clk_summary import gpu_rate_hz, real_clock_verdict


def row(name: str, enabled: int, rate: int) -> str:
    return f"          {name}      {enabled}        3        0   {rate}          0     0  50000         Y\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (row("scmi_clk_gpu", 1, 786431952), 786431952),
        (row("scmi_clk_gpu", 1, 1) + row("clk_gpu", 2, 850000000), 850000000),
        (row("clk_gpu_src", 1, 850000000) + row("clk_gpu_stacks", 1, 850000000), None),
        (row("clk_gpu", 0, 297000000), None),
        (row("clk_gpu", 1, 850000000)[:40], None),
        ("cat: /sys/kernel/debug/clk/clk_summary: Permission denied\n", None),
        ("", None),
    ],
)
def test_the_row_of_the_gpu(text: str, wanted: int | None):
    assert gpu_rate_hz(text) == wanted


def test_kernels_from_6_6_on_show_consumers_after_the_row():
    consumer = row("clk_gpu", 1, 900000000).replace("Y\n", "Y   fb000000.gpu-panthor      core\n")
    assert gpu_rate_hz(consumer) == 900000000


@pytest.mark.parametrize(
    ("real_hz", "asked_hz", "wanted"),
    [
        (1000000000, 1000000000, "ok"),
        (980000000, 1000000000, "ok"),
        (979999999, 1000000000, "mismatch"),
        (1020000001, 1000000000, "mismatch"),
        (None, 1000000000, "unknown"),
        (1000000000, None, "unknown"),
        (1000000000, 0, "unknown"),
    ],
)
def test_two_percent_apart_is_the_limit(real_hz: int | None, asked_hz: int | None, wanted: str):
    assert real_clock_verdict(real_hz, asked_hz) == wanted
