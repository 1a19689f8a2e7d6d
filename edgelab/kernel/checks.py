"""Checks of a parsed program before anything is compiled: interface, well-formedness, untouched inputs."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Op, PrimType, TupleType, Type, Var
from tvm.s_tir import MatchBufferRegion
from tvm.tirx import BufferStore, Cast, DeclBuffer, IntImm, PrimFunc

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel.accesses import viewed
from edgelab.kernel.program import TensorSpec


def check_interface(
    module: IRModule,
    inputs: Sequence[TensorSpec],
    params: Mapping[str, np.ndarray],
    outputs: Sequence[TensorSpec],
    structure: str | None,
) -> None:
    """Raise EvaluationFailure (syntax_api) unless `main` takes and returns what the task says.

    `main` takes the task's inputs and then all parameters, in order; names are free.
    """
    main = module.functions.get(_global(module, "main"))
    if not isinstance(main, relax.Function):
        raise _mismatch("the module has no Relax function named main")
    wanted = [
        *inputs,
        *(TensorSpec(name, tuple(value.shape), str(value.dtype)) for name, value in params.items()),
    ]
    if len(main.params) != len(wanted):
        names = ", ".join(map(str, wanted))
        raise _mismatch(f"main takes {len(main.params)} arguments, expected {len(wanted)}: {names}")
    for spec, var in zip(wanted, main.params, strict=True):
        _check_tensor(f"argument {var.name} of main", var.ty, spec)
    for returned in (main.ret_ty, main.body.body.ty):
        _check_outputs(returned, outputs, structure)


def _global(module: IRModule, name: str) -> GlobalVar | None:
    return next((var for var in module.get_global_vars() if var.name_hint == name), None)


def _check_outputs(returned: Type, outputs: Sequence[TensorSpec], structure: str | None) -> None:
    is_tuple = isinstance(returned, TupleType)
    fields = list(returned.fields) if is_tuple else [returned]
    if len(fields) != len(outputs):
        raise _mismatch(f"main returns {len(fields)} tensors, expected {len(outputs)}")
    if structure is not None and is_tuple != (structure == "tuple"):
        got = "a tuple" if is_tuple else "a tensor"
        raise _mismatch(f"main returns {got}, expected a {structure}")
    for spec, ty in zip(outputs, fields, strict=True):
        _check_tensor(f"output {spec.name} of main", ty, spec)


def _check_tensor(what: str, ty: Type, spec: TensorSpec) -> None:
    wanted = f"{spec.dtype}[{', '.join(map(str, spec.shape))}]"
    if not isinstance(ty, relax.TensorType) or ty.shape is None:
        raise _mismatch(f"{what} is {ty}, expected {wanted}")
    extents = ty.shape.values
    static = all(isinstance(extent, IntImm) for extent in extents)
    got = f"{ty.dtype}[{', '.join(str(int(e)) if isinstance(e, IntImm) else str(e) for e in extents)}]"
    if not static or tuple(int(extent) for extent in extents) != spec.shape:
        raise _mismatch(f"{what} has the wrong shape: got {got}, expected {wanted}")
    if str(ty.dtype) != spec.dtype:
        raise _mismatch(f"{what} has the wrong dtype: got {got}, expected {wanted}")


def _mismatch(message: str) -> EvaluationFailure:
    return EvaluationFailure(FailureClass.SYNTAX_API, message)


def check_well_formed(module: IRModule) -> None:
    """Raise EvaluationFailure (syntax_api) with TVM's reason if the module breaks a rule of the IR."""
    try:
        relax.analysis.well_formed(module)
        tvm.s_tir.analysis.verify_well_formed(module)
        for function in module.functions.values():
            if isinstance(function, PrimFunc) and not (function.attrs or {}).get("s_tir", False):
                tvm.tirx.analysis.verify_tirx_well_formed(function)
    except Exception as error:
        reason = str(error).strip()
        last = reason.splitlines()[-1] if reason else type(error).__name__
        raise EvaluationFailure(
            FailureClass.SYNTAX_API,
            f"the program is not well-formed: {short_reason(reason) or last}",
            detail=reason,
        ) from error


def short_reason(reason: str) -> str:
    """The part of a TVM message that speaks to the author of a program."""
    for marker in ("is false: ", "is true: ", "identified error: "):
        if marker in reason:
            reason = reason.rpartition(marker)[2]
    return reason.strip().splitlines()[0] if reason.strip() else ""


def check_inputs_untouched(module: IRModule) -> None:
    """Raise EvaluationFailure (hack) for a kernel that writes to a buffer it was given to read.

    Inputs and weights outlive a call, so such a kernel could carry results from one call to the next.
    """
    for function in module.functions.values():
        if not isinstance(function, relax.Function):
            continue
        for call in _calls(function):
            if isinstance(call.op, GlobalVar) and isinstance(module[call.op], PrimFunc):
                raise _mismatch(f"kernel {call.op.name_hint} is called directly; use R.call_tir")
            if isinstance(call.op, Op) and call.op.name == "relax.call_tir":
                _check_kernel_call(module, call)


def _check_kernel_call(module: IRModule, call: Call) -> None:
    kernel, arguments = call.args[0], call.args[1]
    read = module[kernel].params[: len(arguments.ty.fields)]
    written = _written(module[kernel])
    for var in read:
        if any(var.same_as(other) for other in written):
            message = f"kernel {kernel.name_hint} writes to its input {var.name}"
            raise EvaluationFailure(FailureClass.HACK, message)


def _calls(function: relax.Function) -> list[Call]:
    calls: list[Call] = []
    relax.analysis.post_order_visit(
        function, lambda node: calls.append(node) if isinstance(node, Call) else None
    )
    return calls


def _written(function: PrimFunc) -> list[Var]:
    """Buffers that the kernel stores to, each traced through views to the buffer that owns the memory."""
    owner: dict[Var, Var] = {}
    stores: list[Var] = []
    views: list[DeclBuffer | MatchBufferRegion] = []
    # An exception that crossed TVM's walk would come out as a RuntimeError, so the walk only collects.
    tvm_ffi.structural_walk(
        function.body,
        [
            ((DeclBuffer, MatchBufferRegion), views.append),
            (BufferStore, lambda store: stores.append(store.buffer)),
        ],
    )
    for view in views:
        source = viewed(view.data) if isinstance(view, DeclBuffer) else view.source.source
        if source is None:
            message = f"buffer {view.buffer.name} views memory of unknown origin; a view is of data=A.data"
            raise EvaluationFailure(FailureClass.HACK, message)
        owner[view.buffer] = source  # pyright: ignore[reportArgumentType]
    written = []
    for buffer in stores:
        while buffer in owner:
            buffer = owner[buffer]
        written.append(buffer)
    return written


def check_no_addresses(module: IRModule) -> None:
    """Raise EvaluationFailure (hack) for a kernel that turns a number into an address, or an address into one."""
    for name, function in module.functions.items():
        if not isinstance(function, PrimFunc):
            continue
        conversions: list[Call | Cast] = []
        tvm_ffi.structural_walk(function.body, ((Call, Cast), conversions.append))
        if any(_converts_address(node) for node in conversions):
            message = f"kernel {name.name_hint} converts between a number and an address"
            raise EvaluationFailure(FailureClass.HACK, message)


def _converts_address(node: Call | Cast) -> bool:
    if isinstance(node, Call) and "reinterpret" not in str(getattr(node.op, "name", "")):
        return False
    operand = node.value if isinstance(node, Cast) else node.args[0]
    return any(not isinstance(value.ty, PrimType) or value.ty.dtype == "handle" for value in (node, operand))
