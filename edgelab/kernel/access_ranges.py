"""Where in its buffer an access can land: bounds of each index under the loops and conditions around it."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tvm.ir import Expr
from tvm.sym import Analyzer
from tvm.tirx import IntImm, Ramp

from edgelab.kernel.accesses import Access, Guard, Loop, analyzer, is_index, negation

_WITHOUT_BOUND = 2**62
"""TVM's own infinity is 2**63 - 1; sums of bounds near it count as infinite too."""

Span = tuple[int, int]
"""Lowest and highest value, both included."""


def spans(access: Access, at_first: Sequence[Loop] = ()) -> list[Span] | None:
    """Bounds of each index, or None if the access provably never runs.

    The loops in `at_first` are in their first turn. Bounds may be wider than what happens, never narrower.
    """
    if any(
        loop.first is not None and loop.last is not None and loop.last < loop.first for loop in access.loops
    ):
        return None
    values = {loop: loop.first for loop in at_first if loop.var is not None and loop.first is not None}
    known = analyzer(access, values)
    with contextlib.ExitStack() as stack:
        for guard in access.guards:
            if guard.condition is None:
                continue
            if known.can_prove(negation(guard.condition)):
                return None
            if not guard.reads:
                stack.enter_context(known.constraint_scope(guard.condition))
        return [_span(known, index) for index in access.indices]


def _span(known: Analyzer, index: Expr) -> Span:
    lanes = 0
    if isinstance(index, Ramp):
        if not (isinstance(index.stride, IntImm) and isinstance(index.lanes, IntImm | int)):
            return -_WITHOUT_BOUND, _WITHOUT_BOUND
        lanes = (int(index.lanes) - 1) * int(index.stride)
        index = index.base
    if not is_index(index):
        return -_WITHOUT_BOUND, _WITHOUT_BOUND
    bound = known.const_int_bound(known.simplify(index))
    return int(bound.min_value) + min(lanes, 0), int(bound.max_value) + max(lanes, 0)


def may_meet(store: Sequence[Span], load: Sequence[Span], one: Access, other: Access) -> bool:
    """Whether two accesses to one memory, with these spans, can touch the same byte."""
    if one.buffer.same_as(other.buffer):
        return all(
            low <= high2 and low2 <= high for (low, high), (low2, high2) in zip(store, load, strict=True)
        )
    if not (one.flat and other.flat):
        return True
    first, second = _flat(one, store), _flat(other, load)
    return first is None or second is None or (first[0] <= second[1] and second[0] <= first[1])


def _flat(access: Access, indices: Sequence[Span]) -> Span | None:
    """The bytes of a compact buffer between the first and the last that the access can touch."""
    type_ = access.buffer.ty
    if len(type_.strides) or not all(isinstance(extent, IntImm) for extent in type_.shape):
        return None
    low = high = 0
    for extent, (least, most) in zip(type_.shape, indices, strict=True):
        low, high = low * int(extent) + least, high * int(extent) + most
    size = _size_bytes(str(type_.dtype))
    return low * size, high * size + size - 1


def _size_bytes(dtype: str) -> int:
    bits = "".join(character for character in dtype.partition("x")[0] if character.isdigit())
    return max(int(bits or 8) // 8, 1)


def implies(known: Analyzer, given: Sequence[Guard], wanted: Sequence[Guard]) -> bool:
    """Whether the conditions `given` prove every one of `wanted`; the same guard proves itself."""
    with _assuming(known, given):
        return all(
            guard in given or (guard.condition is not None and known.can_prove(guard.condition))
            for guard in wanted
        )


@contextlib.contextmanager
def _assuming(known: Analyzer, guards: Sequence[Guard]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for guard in guards:
            if guard.condition is not None and not guard.reads:
                stack.enter_context(known.constraint_scope(guard.condition))
        yield
