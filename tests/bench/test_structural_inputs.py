"""Structural inputs keep shapes, dtypes and the range of integers, and do what their names say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from edgelab.bench.structural_inputs import STRUCTURES, Structure, near_twin, transform, unchanged

_SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, max_side=9)
_DTYPES = st.sampled_from(["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"])
_ARRAYS = st.builds(lambda dtype, shape: (dtype, shape), _DTYPES, _SHAPES).flatmap(
    lambda pair: arrays.arrays(pair[0], pair[1])
)
_STRUCTURES = st.sampled_from(STRUCTURES)
_SEEDS = st.integers(0, 2**32)


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(_STRUCTURES, st.lists(_ARRAYS, min_size=1, max_size=3), _SEEDS)
def test_shapes_dtypes_and_originals_stay(structure: Structure, inputs: list[np.ndarray], seed: int) -> None:
    before = [value.copy() for value in inputs]
    changed = transform(structure, inputs, _generator(seed))
    assert [(value.shape, value.dtype) for value in changed] == [(v.shape, v.dtype) for v in inputs]
    assert unchanged(before, inputs)
    assert all(value.flags.c_contiguous for value in changed)
    assert not any(np.shares_memory(old, new) for old, new in zip(inputs, changed, strict=True))


@given(_STRUCTURES, _ARRAYS, _SEEDS)
def test_integers_stay_among_the_values_that_were_drawn(
    structure: Structure, value: np.ndarray, seed: int
) -> None:
    (changed,) = transform(structure, [value], _generator(seed))
    if not np.issubdtype(value.dtype, np.floating):
        assert np.isin(changed, value).all()


@given(_STRUCTURES, _ARRAYS, _SEEDS)
def test_the_same_generator_gives_the_same_inputs(structure: Structure, value: np.ndarray, seed: int) -> None:
    first = transform(structure, [value], _generator(seed))
    assert unchanged(first, transform(structure, [value], _generator(seed)))


@pytest.fixture
def normal() -> np.ndarray:
    return _generator(1).standard_normal((32, 64)).astype("float32")


def _apply(structure: Structure, value: np.ndarray) -> np.ndarray:
    return transform(structure, [value], _generator(7))[0]


def test_magnitudes(normal: np.ndarray) -> None:
    large, small = _apply("large", normal), _apply("small", normal)
    assert 16 <= np.abs(large).max() / np.abs(normal).max() <= 256
    assert 2**-10 <= np.abs(small).max() / np.abs(normal).max() <= 2**-4
    extreme = np.abs(_apply("extremes", normal)).max() / np.abs(normal).max()
    assert 8 <= extreme <= 64


def test_zeros(normal: np.ndarray) -> None:
    assert 0.02 < np.mean(_apply("sparse", normal) != 0) < 0.2
    blocks = _apply("zero_blocks", normal).reshape(-1) == 0
    assert blocks.size / 8 <= blocks.sum() <= blocks.size / 2
    assert (np.diff(blocks.astype(int)) == 1).sum() <= 4


def test_rows(normal: np.ndarray) -> None:
    constant = _apply("constant_rows", normal)
    assert (constant == constant[:, :1]).all()
    assert len(np.unique(constant)) == 32
    permuted = _apply("permuted_rows", normal)
    assert not unchanged([permuted], [normal])
    assert {row.tobytes() for row in permuted} == {row.tobytes() for row in normal}
    assert sorted(_apply("permuted", normal).flat) == sorted(normal.flat)


def test_signs_stay_where_only_one_occurs(normal: np.ndarray) -> None:
    assert unchanged([_apply("negated", normal)], [-normal])
    assert unchanged([_apply("negated", np.abs(normal))], [np.abs(normal)])
    assert (_apply("extremes", np.abs(normal)) >= 0).all()


def test_a_mask_of_infinities_stays(normal: np.ndarray) -> None:
    masked = np.where(np.arange(64) > 40, -np.inf, normal).astype("float32")
    for structure in ("large", "small", "negated", "zero_blocks", "sparse", "extremes"):
        assert (np.isinf(_apply(structure, masked)) == np.isinf(masked)).all(), structure


def test_a_near_twin_differs_in_one_run(normal: np.ndarray) -> None:
    other = normal + 1
    (twin,) = near_twin([normal], [other], _generator(3))
    differs = np.flatnonzero(twin.reshape(-1) != normal.reshape(-1))
    assert differs.size == normal.size // 16
    assert (np.diff(differs) == 1).all()
    assert not unchanged([twin], [normal])
