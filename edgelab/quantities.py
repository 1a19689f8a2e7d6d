"""Numbers as people read them: a unit each, sensible precision, and a dash for what is unknown."""

from __future__ import annotations

import time

UNKNOWN = "—"
"""Shown for a value that could not be read; never 0."""

_LATENCY_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZE_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_FREQ_UNITS = ((1e9, "GHz", 1), (1e6, "MHz", 0), (1e3, "kHz", 0))


def latency(seconds: float | None) -> str:
    """Return a latency such as `109.5 µs` or `4.03 ms`: two decimals below ten, one above."""
    if seconds is None:
        return UNKNOWN
    for scale, unit in _LATENCY_UNITS:
        # 0.99995 of a unit would round up to "1000.0" of the unit below.
        if abs(seconds) >= scale * 0.99995 or unit == "ns":
            value = seconds / scale
            return f"{value:.2f} {unit}" if abs(value) < 9.995 else f"{value:.1f} {unit}"
    raise AssertionError("unreachable: the last unit takes every value")


def speedup(ratio: float | None) -> str:
    """Return a speed-up such as `1.31×`."""
    if ratio is None:
        return UNKNOWN
    decimals = 2 if abs(ratio) < 9.995 else 1 if abs(ratio) < 99.95 else 0
    return f"{ratio:.{decimals}f}×"


def measured_speedup(ratio: float | None, bounds: tuple[float, float] | None) -> str:
    """Return a speed-up with as many decimals as `interval` shows of its bounds: `1.003×` in `[1.002, 1.005]`."""
    if ratio is None or bounds is None:
        return speedup(ratio)
    return f"{ratio:.{_interval_decimals(*bounds)}f}×"


def interval(bounds: tuple[float, float] | None) -> str:
    """Return a 95 % interval such as `[1.30, 1.32]`, with a third decimal where it is narrow."""
    if bounds is None:
        return UNKNOWN
    low, high = bounds
    decimals = _interval_decimals(low, high)
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def _interval_decimals(low: float, high: float) -> int:
    return 3 if abs(high - low) < 0.02 and abs(high) < 10 else 2


def share(value: float | None) -> str:
    """Return a share (0.052) as a percentage (`5.2 %`)."""
    if value is None:
        return UNKNOWN
    return f"{value * 100:.1f} %" if abs(value) < 0.9995 else f"{value * 100:.0f} %"


def percent(value: float | None) -> str:
    """Return a percentage that already is one (`37 %`)."""
    return UNKNOWN if value is None else f"{value:.0f} %"


def size(count_bytes: float | None) -> str:
    """Return a size in binary units, such as `44.0 MiB`."""
    if count_bytes is None:
        return UNKNOWN
    for scale, unit in _SIZE_UNITS:
        if count_bytes >= scale * 0.99995:
            return f"{count_bytes / scale:.1f} {unit}"
    return f"{count_bytes:.0f} B"


def frequency(freq_hz: float | None) -> str:
    """Return a clock such as `3.5 GHz` or `408 MHz`."""
    if freq_hz is None:
        return UNKNOWN
    for scale, unit, decimals in _FREQ_UNITS:
        if freq_hz >= scale * 0.9995:
            return f"{freq_hz / scale:.{decimals}f} {unit}"
    return f"{freq_hz:.0f} Hz"


def temperature(celsius: float | None) -> str:
    """Return a temperature such as `47 °C`."""
    return UNKNOWN if celsius is None else f"{celsius:.0f} °C"


def plain(value: float | None, decimals: int = 2) -> str:
    """Return a number without a unit (a load average)."""
    return UNKNOWN if value is None else f"{value:.{decimals}f}"


def count(value: int | None) -> str:
    """Return a whole number with thin groups of three: `1,000,000`."""
    return UNKNOWN if value is None else f"{value:,}"


def elapsed(seconds: float | None) -> str:
    """Return a span of time: `20 ms`, `0.8 s`, `12 s`, `1 min 05 s`, `1 h 02 min`."""
    if seconds is None:
        return UNKNOWN
    if 0 < seconds < 0.0995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def age(seconds: float | None) -> str:
    """Return how long ago something was: `now`, `3 s ago`, `5 min ago`, `2 h ago`, `3 d ago`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1.5:
        return "now"
    for scale, unit, limit in ((1, "s", 60), (60, "min", 3600), (3600, "h", 86400)):
        if seconds < limit:
            return f"{int(seconds // scale)} {unit} ago"
    return f"{int(seconds // 86400)} d ago"


def clock(time_s: float | None) -> str:
    """Return the local time of day, `14:03:12`, of seconds since the epoch."""
    return UNKNOWN if time_s is None else time.strftime("%H:%M:%S", time.localtime(time_s))


def moment(time_s: float | None) -> str:
    """Return the local date and time, `2026-11-03 14:03`, of seconds since the epoch."""
    return UNKNOWN if time_s is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))


def with_word(text: str) -> str:
    """Return `— unknown` for the dash, where there is room for the word."""
    return f"{UNKNOWN} unknown" if text == UNKNOWN else text
