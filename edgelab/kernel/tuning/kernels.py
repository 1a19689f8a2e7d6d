"""Kernels of a lowered module in the form in which they are searched, stored and found again."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import tvm
import tvm_ffi
from tvm.ir import IRModule
from tvm.tirx import IntImm, PrimFunc, is_buffer_var

from edgelab.kernel.tuning.protocol import KernelTensor
from edgelab.kernel.tuning.search_class import blocks

_DROPPED = ("global_symbol", "op_pattern", "private")
_SCHEDULED = "tirx.is_scheduled"


def alone(kernel: PrimFunc) -> IRModule:
    """A module with the kernel as its only function, `main`, without what its program called it."""
    bare: tvm.ir.BaseFunc = kernel
    for name in _DROPPED:
        bare = bare.without_attr(name)
    return IRModule({"main": bare.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)})


def digest(module: IRModule) -> str:
    """Structural hash of a module from `alone`, as 16 hexadecimal digits."""
    return f"{tvm_ffi.structural_hash(module, map_free_vars=True) & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def tensors(kernel: PrimFunc) -> tuple[KernelTensor, ...] | None:
    """The kernel's arguments; None if one is not a tensor of static shape."""
    found = []
    for param in kernel.params:
        if not is_buffer_var(param) or not all(isinstance(extent, IntImm) for extent in param.ty.shape):
            return None
        found.append(KernelTensor(tuple(int(extent) for extent in param.ty.shape), str(param.ty.dtype)))
    return tuple(found)


def why_untunable(kernel: PrimFunc) -> str:
    """Why no search of schedules can take the kernel; empty if one can."""
    if tensors(kernel) is None:
        return "an argument is no tensor of static shape"
    if (kernel.attrs or {}).get(_SCHEDULED):
        return "it is scheduled already"
    if not blocks(kernel):
        return "it has no block"
    return ""


def scheduled(kernel: PrimFunc, replacement: tvm.ir.BaseFunc) -> tvm.ir.BaseFunc:
    """`replacement`, the scheduled form of `kernel`, with what the program knows the kernel by."""
    result = replacement.without_attr("global_symbol").with_attr(_SCHEDULED, True)
    for name in _DROPPED:
        value = (kernel.attrs or {}).get(name)
        if value is not None:
            result = result.with_attr(name, value)
    return result
