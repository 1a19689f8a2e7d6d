"""The least time of a task on a device."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.roofline_floor import FLOP_SHARE, SAFETY, WEIGHT_SHARE, LeastWork, check_floor, floor_of
from edgelab.drivers.profile import Peaks
from edgelab.errors import EvaluationFailure, FailureClass

MIB = 1 << 20
WORK = LeastWork(input_bytes=40 * MIB, weight_bytes=40 * MIB, output_bytes=10 * MIB, flops=10**9)
_BYTES = st.integers(0, 1 << 34)


def test_bytes_beyond_the_caches_over_the_bandwidth() -> None:
    floor = floor_of(WORK, Peaks(bandwidth_gb_s=100.0, cache_mib=8.0))
    assert floor is not None
    expected_s = (40 + 10 + 40 * WEIGHT_SHARE - 8) * MIB / 100e9 / SAFETY
    assert floor.latency_s == pytest.approx(expected_s)
    assert "52 MiB" in floor.reason


def test_a_hundredth_of_the_operations_over_the_compute_peak() -> None:
    floor = floor_of(WORK, Peaks(compute_gflops=10.0))
    assert floor is not None
    assert floor.latency_s == pytest.approx(1e9 * FLOP_SHARE / 10e9 / SAFETY)


@pytest.mark.parametrize("peaks", [None, Peaks(), Peaks(bandwidth_gb_s=100.0)])
def test_unknown_peaks_give_no_floor(peaks: Peaks | None) -> None:
    assert floor_of(WORK, peaks) is None
    check_floor("task", 1e-12, None)


def test_what_fits_the_caches_has_no_floor_by_bytes() -> None:
    small = LeastWork(input_bytes=MIB, weight_bytes=MIB, output_bytes=MIB, flops=0)
    floor = floor_of(small, Peaks(bandwidth_gb_s=1.0, cache_mib=4.0))
    assert floor is not None
    assert floor.latency_s == 0
    check_floor("task", 1e-12, floor)


@given(_BYTES, _BYTES, _BYTES, st.floats(0.1, 1e4), st.floats(0, 64))
def test_a_program_that_moves_each_byte_once_at_peak_is_never_refused(
    read: int, weights: int, written: int, bandwidth: float, cache_mib: float
) -> None:
    work = LeastWork(input_bytes=read, weight_bytes=weights, output_bytes=written, flops=0)
    honest_s = max(0.0, read + weights + written - cache_mib * MIB) / (bandwidth * 1e9)
    check_floor("task", honest_s, floor_of(work, Peaks(bandwidth_gb_s=bandwidth, cache_mib=cache_mib)))


def test_a_refusal_names_task_times_and_reason() -> None:
    floor = floor_of(WORK, Peaks(bandwidth_gb_s=100.0, cache_mib=8.0))
    assert floor is not None
    with pytest.raises(EvaluationFailure, match=r"candidate for conv .* 1e-05 s, where 0.000273 s") as caught:
        check_floor("conv", 1e-5, floor)
    assert caught.value.failure_class is FailureClass.HACK
    assert "100 GB/s" in caught.value.detail
