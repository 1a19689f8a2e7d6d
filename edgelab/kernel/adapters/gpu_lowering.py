"""What the GPU backends share on the way down: a default schedule for every kernel that does not bind its own threads.

The schedule is TVM's dlight: rules, no search, the same result every time.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm.ir import IRModule
from tvm.s_tir import dlight
from tvm.tirx import AttrStmt, For, PrimFunc

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import lowering

_SCHEDULED = "tirx.is_scheduled"
"""TVM's mark of a kernel that dlight leaves alone."""


def lower(module: IRModule, target: tvm.target.Target, pipeline: lowering.BackendPipeline) -> tvm.IRModule:
    """`lowering.lower` for a backend with threads.

    A kernel that the program wrote stays as written if it binds threads, and gets the default schedule if
    not. Raises EvaluationFailure (parallel) for a kernel that the default schedule cannot take.
    """
    with target:
        functions = {
            name: _scheduled(str(name.name_hint), function) if isinstance(function, PrimFunc) else function
            for name, function in module.functions.items()
        }
    return lowering.lower(IRModule(functions, attrs=module.attrs), target, pipeline)


def _scheduled(name: str, kernel: PrimFunc) -> tvm.ir.BaseFunc:
    if binds_threads(kernel):
        return kernel.with_attr(_SCHEDULED, True)
    rules = dlight.gpu
    default: Any = dlight.ApplyDefaultSchedule(
        rules.Matmul(), rules.GEMV(), rules.Reduction(), rules.GeneralReduction(), rules.Fallback()
    )
    try:
        function = default(IRModule({"main": kernel.with_attr("global_symbol", "main")}))["main"]
    except Exception as error:
        raise _unbound(name, str(error)) from error
    if not binds_threads(function):
        raise _unbound(name, "")
    return function.without_attr("global_symbol").with_attr(_SCHEDULED, True)


def _unbound(name: str, detail: str) -> EvaluationFailure:
    return EvaluationFailure(
        FailureClass.PARALLEL,
        f"kernel {name} binds no loop to GPU threads, and the default schedule cannot take it",
        detail=detail,
        advice='Bind its loops with T.thread_binding(..., thread="blockIdx.x") and "threadIdx.x", or write '
        "it with blocks (s_tir=True).",
    )


def binds_threads(kernel: PrimFunc) -> bool:
    """Whether the kernel binds a loop to a thread axis."""
    found: list[object] = []
    tvm_ffi.structural_walk(
        kernel.body,
        [
            (For, lambda loop: found.append(loop) if loop.thread_binding is not None else None),
            (AttrStmt, lambda node: found.append(node) if node.attr_key == "thread_extent" else None),
        ],
    )
    return bool(found)
