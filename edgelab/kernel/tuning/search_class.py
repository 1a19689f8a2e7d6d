"""Search-complexity class of a kernel, by the structure of its tensor program."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm.ir import TensorLoad, Var
from tvm.s_tir import SBlock
from tvm.tirx import Add, BufferStore, IterVar, Mul, PrimFunc

from edgelab.kernel.tuning.protocol import SearchClass


def search_class(kernel: PrimFunc) -> SearchClass:
    """The class of a kernel whose loops are not scheduled yet.

    Counts the blocks that reduce. A single one that adds products of two tensors is a contraction: one whose
    operand is read at sums of output and reduction positions slides a window over it, and it is grouped
    where an output axis selects in both operands.
    """
    reducing = [block for block in blocks(kernel) if reduction_axes(block)]
    if not reducing:
        return SearchClass.INJECTIVE
    if len(reducing) > 1:
        return SearchClass.COMPOSITE
    operands = _multiplied(reducing[0])
    if operands is None:
        return SearchClass.REDUCTION
    return _contraction(reducing[0], *operands)


def blocks(kernel: PrimFunc) -> list[SBlock]:
    """All blocks of a kernel but its root, in the order of their text."""
    found: list[SBlock] = []
    tvm_ffi.structural_walk(kernel.body, (SBlock, found.append))
    return [block for block in found if len(block.iter_vars)]


def reduction_axes(block: SBlock) -> list[Var]:
    """Variables of the axes that a block reduces over."""
    return [axis.var for axis in block.iter_vars if int(axis.iter_type) == IterVar.CommReduce]


def _multiplied(block: SBlock) -> tuple[TensorLoad, TensorLoad] | None:
    """The two tensor elements whose products a block adds up; None if it does something else."""
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, Add):
        return None
    terms = (store.value.a, store.value.b)
    product = next((term for term in map(_without_casts, terms) if isinstance(term, Mul)), None)
    if product is None:
        return None
    left, right = _loads(product.a), _loads(product.b)
    if len(left) != 1 or len(right) != 1:
        return None
    return left[0], right[0]


def _without_casts(expression: Any) -> Any:
    while type(expression).__name__ == "Cast":
        expression = expression.value
    return expression


def _loads(expression: Any) -> list[TensorLoad]:
    found: list[TensorLoad] = []
    tvm_ffi.structural_walk(expression, (TensorLoad, found.append))
    return found


def _contraction(block: SBlock, left: TensorLoad, right: TensorLoad) -> SearchClass:
    reduced = reduction_axes(block)
    output = [axis.var for axis in block.iter_vars if int(axis.iter_type) == IterVar.DataPar]
    if not any(_slides(load, output, reduced) for load in (left, right)):
        return SearchClass.MATMUL
    shared = [var for var in output if _uses(left.indices, [var]) and _uses(right.indices, [var])]
    return SearchClass.GROUPED_CONVOLUTION if shared else SearchClass.CONVOLUTION


def _slides(load: TensorLoad, output: list[Var], reduced: list[Var]) -> bool:
    """Whether one index of the load depends on an output axis and on a reduction axis."""
    return any(_uses([index], output) and _uses([index], reduced) for index in load.indices)


def _uses(expressions: Any, variables: list[Var]) -> bool:
    used: list[Var] = []
    for expression in expressions:
        tvm_ffi.structural_walk(expression, (Var, used.append))
    return any(var.same_as(other) for var in used for other in variables)
