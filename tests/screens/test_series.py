from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgelab.screens.series import Series


@given(st.lists(st.lists(st.integers(0, 10**6).map(float), max_size=50), max_size=30))
def test_kept_values_are_every_stride_th_of_all(batches: list[list[float]]) -> None:
    series = Series()
    for batch in batches:
        series = series.extended(batch, limit=32)
    everything = [value for batch in batches for value in batch]
    assert series.seen == len(everything)
    assert len(series.values) <= 32
    assert list(series.values) == everything[:: series.stride]


def test_the_median_is_that_of_the_kept_values() -> None:
    assert Series().median is None
    assert Series().extended([3.0, 1.0, 2.0]).median == 2.0
