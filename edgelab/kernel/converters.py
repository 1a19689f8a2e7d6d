"""Relax translations of PyTorch operators that TVM's importer lacks.

Each converter is called with the fx node and TVM's importer, whose `env` maps nodes to Relax expressions and whose
`block_builder.emit` binds a new one. Semantics are those of the ATen operator of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax

Converter = Callable[[Any, Any], Any]


def _argument(node: Any, index: int, name: str, default: Any) -> Any:
    return node.args[index] if len(node.args) > index else node.kwargs.get(name, default)


def _axes(value: Any) -> list[int] | None:
    """ATen's `dim`: an int, a sequence of ints, or empty for all axes (None in Relax)."""
    if value is None:
        return None
    axes = list(value) if isinstance(value, Sequence) else [value]
    return axes or None


def _reduction(operator: Callable[..., Any]) -> Converter:
    """`op(self, dim=[], keepdim=False)`, as amax, amin and prod are."""

    def convert(node: Any, importer: Any) -> Any:
        value = importer.env[node.args[0]]
        axes = _axes(_argument(node, 1, "dim", None))
        keepdim = bool(_argument(node, 2, "keepdim", False))
        return importer.block_builder.emit(operator(value, axis=axes, keepdims=keepdim))

    return convert


def _extremum_with_index(operator: Callable[..., Any], index_operator: Callable[..., Any]) -> Converter:
    """`op(self, dim, keepdim=False)` that returns values and indices (int64), as max.dim and min.dim do."""

    def convert(node: Any, importer: Any) -> Any:
        value, dim = importer.env[node.args[0]], node.args[1]
        keepdim = bool(_argument(node, 2, "keepdim", False))
        emit = importer.block_builder.emit
        best = emit(operator(value, axis=dim, keepdims=keepdim))
        index = emit(index_operator(value, axis=dim, keepdims=keepdim))
        return emit(relax.Tuple([best, emit(relax.op.astype(index, "int64"))]))

    return convert


def _var_mean(node: Any, importer: Any) -> Any:
    """`var_mean.correction(self, dim, *, correction=1, keepdim=False)`: sum((x - mean)^2) / (n - correction)."""
    value = importer.env[node.args[0]]
    axes = _axes(_argument(node, 1, "dim", None))
    keepdim = bool(node.kwargs.get("keepdim", False))
    correction = node.kwargs.get("correction")
    correction = 1 if correction is None else correction
    shape = [int(extent) for extent in value.ty.shape.values]
    count = 1
    for axis in range(len(shape)) if axes is None else axes:
        count *= shape[axis]
    emit = importer.block_builder.emit
    mean = emit(relax.op.mean(value, axis=axes, keepdims=True))
    deviation = emit(relax.op.subtract(value, mean))
    total = emit(relax.op.sum(emit(relax.op.multiply(deviation, deviation)), axis=axes, keepdims=keepdim))
    divisor = relax.const(float(max(count - correction, 0)), str(value.ty.dtype))
    variance = emit(relax.op.divide(total, divisor))
    if not keepdim:
        mean = emit(relax.op.squeeze(mean, axis=axes))
    return emit(relax.Tuple([variance, mean]))


def _int_matmul(node: Any, importer: Any) -> Any:
    """`_int_mm(self, mat2)`: int8 x int8 with int32 accumulation."""
    left, right = (importer.env[argument] for argument in node.args[:2])
    return importer.block_builder.emit(relax.op.matmul(left, right, out_dtype="int32"))


def _scatter_add(node: Any, importer: Any) -> Any:
    """`scatter_add(self, dim, index, src)`."""
    value, index, source = (importer.env[node.args[position]] for position in (0, 2, 3))
    emit = importer.block_builder.emit
    return emit(relax.op.scatter_elements(value, index, source, axis=node.args[1], reduction="add"))


CONVERTERS: dict[str, Converter] = {
    "amax.default": _reduction(relax.op.max),
    "amin.default": _reduction(relax.op.min),
    "prod.dim_int": _reduction(relax.op.prod),
    "prod.default": _reduction(relax.op.prod),
    "max.dim": _extremum_with_index(relax.op.max, relax.op.argmax),
    "min.dim": _extremum_with_index(relax.op.min, relax.op.argmin),
    "var_mean.correction": _var_mean,
    "_int_mm.default": _int_matmul,
    "scatter_add.default": _scatter_add,
}
"""Converter by the operator's name in the exported graph."""
