"""How a kernel's blocks are sized, and what its inputs are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.worker import kernel_child


class Kernel:
    """Takes the same time for every call and counts them."""

    def __init__(self, call_s: float) -> None:
        self.call_s = call_s
        self.blocks: list[int] = []

    def __call__(self, calls: int) -> float:
        self.blocks.append(calls)
        return calls * self.call_s


@given(st.floats(1e-7, 0.9), st.integers(1, 9))
def test_blocks_are_as_long_as_wanted_and_latencies_are_of_one_call(call_s, blocks):
    kernel = Kernel(call_s)
    latencies, calls = kernel_child._blocks(kernel, 0.004, blocks, single_s=1.0)
    assert latencies == pytest.approx([call_s] * blocks)
    assert (calls - 1) * call_s < 0.004
    assert calls * call_s >= 0.004 * (1 - 1e-9)


def test_a_kernel_at_the_limit_is_called_once():
    kernel = Kernel(0.5)
    assert kernel_child._blocks(kernel, 0.004, 3, single_s=0.5) == ([0.5], 1)
    assert kernel.blocks == [1]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "bool"])
def test_inputs_are_harmless_and_the_same_for_a_seed(dtype):
    specs = [[[3, 700_000], dtype], [[5], dtype], [[], dtype], [[0, 4], dtype]]
    first, again, other = (kernel_child.random_tensors(specs, seed) for seed in (1, 1, 2))
    for (shape, _), one, same in zip(specs, first, again, strict=True):
        assert list(one.shape) == shape
        assert str(one.dtype) == dtype
        np.testing.assert_array_equal(one.numpy(), same.numpy())
        values = one.numpy().astype("float64")
        low, high = (0.5, 1.5) if dtype.startswith("float") else (0, 1)
        assert ((values >= low) & (values <= high)).all()
    assert not np.array_equal(first[0].numpy(), other[0].numpy())
