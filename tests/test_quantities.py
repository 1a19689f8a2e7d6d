from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab import quantities as fmt


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (109.5e-6, "109.5 µs"),
        (4.03e-3, "4.03 ms"),
        (39.74e-3, "39.7 ms"),
        (1.0, "1.00 s"),
        (0.9999999, "1.00 s"),
        (999.99e-6, "1.00 ms"),
        (12e-9, "12.0 ns"),
        (0.0, "0.00 ns"),
        (None, "—"),
    ],
)
def test_latency(seconds: float | None, text: str) -> None:
    assert fmt.latency(seconds) == text


@given(st.floats(min_value=1e-9, max_value=500.0))
def test_latency_reads_back_within_its_precision(seconds: float) -> None:
    number, unit = fmt.latency(seconds).split()
    scale = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * scale == pytest.approx(seconds, rel=0.006)
    assert float(number) < 1000.05


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.308, "1.31×"), (18.94, "18.9×"), (9.999, "10.0×"), (123.4, "123×"), (None, "—")]
)
def test_speedup(ratio: float | None, text: str) -> None:
    assert fmt.speedup(ratio) == text


def test_a_narrow_interval_gets_a_third_decimal() -> None:
    assert fmt.interval((1.262, 1.331)) == "[1.26, 1.33]"
    assert fmt.interval((1.302, 1.315)) == "[1.302, 1.315]"
    assert fmt.interval(None) == "—"


@pytest.mark.parametrize(
    ("count_bytes", "text"),
    [
        (44 * 2**20, "44.0 MiB"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (2**30, "1.0 GiB"),
        (0, "0 B"),
        (None, "—"),
    ],
)
def test_size(count_bytes: int | None, text: str) -> None:
    assert fmt.size(count_bytes) == text


@pytest.mark.parametrize(
    ("freq_hz", "text"),
    [(3.47e9, "3.5 GHz"), (408e6, "408 MHz"), (999.9e6, "1.0 GHz"), (32e3, "32 kHz"), (None, "—")],
)
def test_frequency(freq_hz: float | None, text: str) -> None:
    assert fmt.frequency(freq_hz) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.02, "20 ms"),
        (0.82, "0.8 s"),
        (12.4, "12 s"),
        (59.7, "1 min 00 s"),
        (65, "1 min 05 s"),
        (3720, "1 h 02 min"),
        (None, "—"),
    ],
)
def test_elapsed(seconds: float | None, text: str) -> None:
    assert fmt.elapsed(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "now"), (3.2, "3 s ago"), (299, "4 min ago"), (7300, "2 h ago"), (300000, "3 d ago"), (None, "—")],
)
def test_age(seconds: float | None, text: str) -> None:
    assert fmt.age(seconds) == text


@pytest.mark.parametrize(
    ("ratio", "bounds", "shown"),
    [
        (1.0034, (1.002, 1.005), "1.003×"),
        (1.3, (1.2, 1.4), "1.30×"),
        (18.9, (18.72, 19.11), "18.90×"),
        (None, None, "—"),
        (1.5, None, "1.50×"),
    ],
)
def test_a_measured_speedup_has_the_decimals_of_its_interval(ratio, bounds, shown) -> None:
    assert fmt.measured_speedup(ratio, bounds) == shown


def test_shares_and_percentages() -> None:
    assert fmt.share(0.052) == "5.2 %"
    assert fmt.share(1.5) == "150 %"
    assert fmt.percent(37.4) == "37 %"
    assert fmt.share(None) == fmt.percent(None) == "—"


def test_an_unknown_value_has_the_word_where_there_is_room() -> None:
    assert fmt.with_word(fmt.temperature(None)) == "— unknown"
    assert fmt.with_word(fmt.temperature(47.2)) == "47 °C"


def test_clock_and_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert fmt.clock(1_788_000_000.0) == "10:40:00"
    assert fmt.moment(1_788_000_000.0) == "2026-08-29 10:40"
    assert fmt.clock(None) == fmt.moment(None) == "—"
