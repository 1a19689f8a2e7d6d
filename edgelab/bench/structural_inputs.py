"""Inputs of another structure than the announced ones: a task's own inputs, scaled, sparse, permuted and so on.

A program that looks at its inputs and takes a cheap path for those that it knows is wrong on some of these.
Shapes and dtypes stay. Integers and booleans, which may be indices or masks, only trade places or repeat, so
that every value is one that the task drew; values that are not finite, such as those of a mask, stay where they
are unless all elements move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

Structure = Literal[
    "large",
    "small",
    "negated",
    "zero_blocks",
    "sparse",
    "constant_rows",
    "extremes",
    "permuted_rows",
    "permuted",
]
"""How inputs are changed; `transform` says what each does."""

STRUCTURES: tuple[Structure, ...] = get_args(Structure)

SPARSE_SHARE = 0.1
"""Share of the elements that a sparse input keeps."""

EXTREME_SHARE = 0.001
"""Share of the elements that become extremes; at least one does."""

PATCH_SHARE = 1 / 16
"""Share of the elements in which a near twin differs from its original; at least one does."""

_LARGE_POWERS = (4, 8)
_SMALL_POWERS = (4, 10)
_EXTREME_POWERS = (3, 6)
_ZERO_BLOCKS = 4
_ZERO_SHARE = 0.125

_Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def transform(
    structure: Structure, inputs: Sequence[np.ndarray], generator: np.random.Generator
) -> list[np.ndarray]:
    """Return changed copies of `inputs` (any shapes; floats, integers, booleans), drawing from `generator`.

    - `large`, `small`: all floats times one power of two, 2^4 to 2^8 or 2^-10 to 2^-4.
    - `negated`: signs flipped, in inputs that have both: where all values have one sign, it may mean something.
    - `zero_blocks`: four runs of an eighth of the elements become zero. `sparse`: nine elements in ten do.
    - `constant_rows`: each row (last axis) repeats one of its elements.
    - `extremes`: one element in a thousand becomes 2^3 to 2^6 times the largest; its sign is kept.
    - `permuted_rows`: slices along the first axis with more than one element trade places.
    - `permuted`: all elements trade places.

    Where a structure changes values, integers and booleans are permuted instead. A result may hold values
    that its dtype cannot represent (infinities of float16): the caller looks.
    """
    change = _changes(structure, generator)
    on_any = structure in ("constant_rows", "permuted_rows", "permuted")
    return [
        change(value, generator)
        if on_any or np.issubdtype(value.dtype, np.floating)
        else _permuted(value, generator)
        for value in inputs
    ]


def near_twin(
    inputs: Sequence[np.ndarray], others: Sequence[np.ndarray], generator: np.random.Generator
) -> list[np.ndarray]:
    """Return copies of `inputs` in which one run of elements, at a random place, is taken from `others`.

    `others` are inputs of the same shapes and dtypes. A program that knows an input again by some of its
    elements takes the twin for the original. Each input differs in a sixteenth of its elements.
    """
    return [_patched(value, other, generator) for value, other in zip(inputs, others, strict=True)]


def unchanged(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> bool:
    """Whether both are the same, element by element; NaN equals NaN."""
    return all(
        np.array_equal(old, new, equal_nan=np.issubdtype(old.dtype, np.floating))
        for old, new in zip(before, after, strict=True)
    )


def _changes(structure: Structure, generator: np.random.Generator) -> _Change:
    if structure == "large":
        return _scaled(_power(generator, _LARGE_POWERS))
    if structure == "small":
        return _scaled(1 / _power(generator, _SMALL_POWERS))
    return _OTHERS[structure]


def _power(generator: np.random.Generator, powers: tuple[int, int]) -> float:
    return float(2 ** generator.integers(*powers, endpoint=True))


def _scaled(factor: float) -> _Change:
    def change(value: np.ndarray, _: np.random.Generator) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return value * value.dtype.type(factor)

    return change


def _negated(value: np.ndarray, _: np.random.Generator) -> np.ndarray:
    finite = np.isfinite(value)
    both = (value[finite] < 0).any() and (value[finite] > 0).any()
    return np.where(finite, -value, value) if both else value.copy()


def _zero_blocks(value: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    changed = value.copy()
    flat = changed.reshape(-1)
    length = max(1, int(flat.size * _ZERO_SHARE))
    for start in generator.integers(0, flat.size - length, size=_ZERO_BLOCKS, endpoint=True):
        run = flat[start : start + length]
        run[np.isfinite(run)] = 0
    return changed


def _sparse(value: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    kept = generator.random(value.shape) < SPARSE_SHARE
    return np.where(kept | ~np.isfinite(value), value, value.dtype.type(0))


def _constant_rows(value: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if value.ndim == 0:
        return value.copy()
    chosen = int(generator.integers(value.shape[-1]))
    return np.broadcast_to(value[..., chosen : chosen + 1], value.shape).copy()


def _extremes(value: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    changed = value.copy()
    flat = changed.reshape(-1)
    finite = np.flatnonzero(np.isfinite(flat))
    if finite.size == 0:
        return changed
    count = max(1, int(flat.size * EXTREME_SHARE))
    places = generator.choice(finite, size=min(count, finite.size), replace=False)
    largest = float(np.abs(flat[finite]).max())
    with np.errstate(over="ignore"):
        flat[places] = np.copysign(largest * _power(generator, _EXTREME_POWERS), flat[places])
    return changed


def _permuted_rows(value: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    axis = next((axis for axis, extent in enumerate(value.shape) if extent > 1), None)
    if axis is None:
        return value.copy()
    return np.take(value, generator.permutation(value.shape[axis]), axis=axis)


def _permuted(value: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(value.reshape(-1)).reshape(value.shape)


def _patched(value: np.ndarray, other: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    changed = value.copy()
    flat = changed.reshape(-1)
    length = max(1, int(flat.size * PATCH_SHARE))
    start = int(generator.integers(0, flat.size - length, endpoint=True))
    flat[start : start + length] = other.reshape(-1)[start : start + length]
    return changed


_OTHERS: dict[Structure, _Change] = {
    "negated": _negated,
    "zero_blocks": _zero_blocks,
    "sparse": _sparse,
    "constant_rows": _constant_rows,
    "extremes": _extremes,
    "permuted_rows": _permuted_rows,
    "permuted": _permuted,
}
