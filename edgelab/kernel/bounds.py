"""Finds accesses that provably leave their buffer, before anything is compiled.

TVM's own `OOBChecker` answers the opposite question, whether an access can be proved to stay inside, and knows
neither steps nor compound conditions; it refuses honest tails. What cannot be told here is told on the device.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import itertools
from typing import Any

import tvm_ffi
from tvm.ir import Expr, IRModule, Var
from tvm.tirx import IntImm, PrimFunc, Ramp

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel.access_ranges import spans
from edgelab.kernel.accesses import Access, Loop, accesses, analyzer

_MAX_LOOPS = 8
"""Loops in one index up to which all corners of the iteration space are tried."""


def check_bounds(module: IRModule) -> None:
    """Raise EvaluationFailure (memory) for an access that provably leaves its buffer.

    Either all values that an index can take lie outside, or the access runs in every turn of loops with
    constant bounds and is outside in one of their corners.
    """
    for name, function in module.functions.items():
        if not isinstance(function, PrimFunc):
            continue
        for access in accesses(function):
            where = _leaves(access)
            if where is not None:
                raise EvaluationFailure(
                    FailureClass.MEMORY,
                    f"kernel {name.name_hint} accesses memory outside a buffer: {written(access)}, {where}"
                    + (f" (line {access.line})" if access.line else ""),
                )


def written(access: Access) -> str:
    """The access as text: `C[vi + 1] = A[vi]`."""
    lines = [line for line in str(access.node).splitlines() if line.strip() and not line.startswith("#")]
    return lines[-1].strip()[:200] if lines else f"{access.buffer.name}[...]"


def _leaves(access: Access) -> str | None:
    """How an access leaves its buffer, in words; None if that cannot be proved."""
    shape: list[Any] = list(access.buffer.ty.shape)
    if len(shape) != len(access.indices) or not all(isinstance(extent, IntImm) for extent in shape):
        return None
    ranges = spans(access)
    if ranges is None:
        return None
    for index, extent, (low, high) in zip(access.indices, map(int, shape), ranges, strict=True):
        outside = None
        if high < 0 or low >= extent:
            outside = low if low == high else f"{low} to {high}"
        elif (low < 0 or high >= extent) and not access.guards:
            outside = _corner(access, index, extent)
        if outside is not None:
            return f"index {outside} where {extent} elements are"
    return None


def _corner(access: Access, index: Any, extent: int) -> int | None:
    """A value outside of `extent` that the index takes in a corner of the loops around it."""
    if not all(loop.first is not None and loop.last is not None for loop in access.loops):
        return None
    offsets: list[int] = [0]
    if isinstance(index, Ramp):
        lanes: Any = index.lanes
        if not (isinstance(index.stride, IntImm) and isinstance(lanes, IntImm | int)):
            return None
        offsets.append((int(lanes) - 1) * int(index.stride))
        index = index.base
    used = _loops_in(access, index)
    if len(used) > _MAX_LOOPS:
        return None
    for corner in itertools.product(*((loop.first, loop.last) for loop in used)):
        values = {loop: value for loop, value in zip(used, corner, strict=True) if value is not None}
        value: Any = analyzer(access, values).simplify(index)
        for offset in offsets if isinstance(value, IntImm) else []:
            if not 0 <= int(value) + offset < extent:
                return int(value) + offset
    return None


def _loops_in(access: Access, index: Expr) -> list[Loop]:
    plain = analyzer(access, ranges=False).simplify(index)
    found: list[Var] = []
    tvm_ffi.structural_walk(plain, (Var, found.append))
    return [
        loop for loop in access.loops if any(loop.var is not None and loop.var.same_as(var) for var in found)
    ]
