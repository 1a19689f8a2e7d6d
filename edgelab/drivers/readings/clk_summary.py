"""The kernel's clock tree (debugfs clk_summary): what the GPU's clock really is, and whether that was asked."""

from __future__ import annotations

import re
from typing import Literal

_ROW = re.compile(r"^ *(\S+) +([0-9]{1,6}) +[0-9]{1,6} +[0-9]{1,6} +([0-9]{1,15}) ", re.MULTILINE)
_APART = 0.02

Verdict = Literal["ok", "mismatch", "unknown"]


def gpu_rate_hz(text: str) -> int | None:
    """Return the rate of the row `clk_gpu`, else `scmi_clk_gpu`, in Hz.

    Only a row that is enabled says anything: that of an idle GPU keeps an old rate.
    """
    rows = {name: (int(count), int(rate)) for name, count, rate in _ROW.findall(text)}
    for name in ("clk_gpu", "scmi_clk_gpu"):
        if name in rows:
            count, rate = rows[name]
            return rate if count > 0 else None
    return None


def real_clock_verdict(real_hz: int | None, asked_hz: int | None) -> Verdict:
    """Compare the real clock with the one that was asked for; more than 2 % apart is a mismatch."""
    if real_hz is None or not asked_hz:
        return "unknown"
    return "mismatch" if abs(real_hz - asked_hz) > _APART * asked_hz else "ok"
