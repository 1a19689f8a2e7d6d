"""From Relax to kernels: the compiler's step between the levels. Deterministic; it never searches.

What a candidate wrote as a kernel stays as written: its PrimFuncs are opaque to fusion. Everything it left as
Relax operators goes through TVM's fused default pipeline, as a plain import does.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Op
from tvm.s_tir import SBlock, SBlockRealize
from tvm.tirx import Evaluate, IntImm, PrimFunc

_OPAQUE = 8
"""`kOpaque` of TVM's OpPatternKind: fusion leaves such a kernel alone."""

_ALLOC_STORAGE = "relax.vm.alloc_storage"


class BackendPipeline(Protocol):
    """The four parts of a backend's default pipeline, such as `tvm.relax.backend.cpu_generic.pipeline`."""

    def library_dispatch_passes(self, target: tvm.target.Target) -> list[tvm.transform.Pass]:
        """Passes that hand operators to library calls or hand-written kernels."""
        ...

    def legalize_passes(self, target: tvm.target.Target) -> list[tvm.transform.Pass]:
        """Passes that turn operators into kernels and fuse them."""
        ...

    def dataflow_lower_passes(self, target: tvm.target.Target) -> list[tvm.transform.Pass]:
        """Passes that turn dataflow into calls with explicit outputs."""
        ...

    def finalize_passes(self, target: tvm.target.Target) -> list[tvm.transform.Pass]:
        """Passes that plan memory and lower to the virtual machine's builtins."""
        ...


def bind_parameters(module: IRModule, params: Mapping[str, np.ndarray]) -> IRModule:
    """`main` with its trailing arguments bound, in order, to the values of `params` as constants.

    Constant folding may then transform weights once, at build time.
    """
    if not params:
        return module
    main = module["main"]
    trailing = main.params[len(main.params) - len(params) :]
    binding = {var: tvm.runtime.tensor(value) for var, value in zip(trailing, params.values(), strict=True)}
    bound = IRModule(dict(module.functions.items()), attrs=module.attrs)
    bound["main"] = main.bind_params(binding)
    return bound


def keep_written_kernels(module: IRModule) -> IRModule:
    """The module with every PrimFunc marked opaque, so that fusion neither changes nor absorbs it.

    The symbols that a program gave its kernels are dropped: they could clash with others or mean something to
    the linker, and the pipeline names every kernel itself.

    Fusion would also fail: a `T.Buffer((64,), ...)` has int32 extents and Relax shapes have int64 ones.
    """
    kept = {
        name: _opaque(function) if isinstance(function, PrimFunc) else function
        for name, function in module.functions.items()
    }
    return IRModule(kept, attrs=module.attrs)


def _opaque(kernel: PrimFunc) -> tvm.ir.BaseFunc:
    return kernel.without_attr("global_symbol").with_attr("op_pattern", _OPAQUE)


def lower(module: IRModule, target: tvm.target.Target, pipeline: BackendPipeline) -> IRModule:
    """Legalised, fused and memory-planned module, ready for code generation.

    For a module without written kernels this is TVM's default pipeline of the target after batch norms
    became arithmetic, which is what the `plain` baseline is. `pipeline` is the TVM module that defines
    the passes of the target's backend.
    """
    written = {
        name: function for name, function in module.functions.items() if isinstance(function, PrimFunc)
    }
    with target:
        legalized = tvm.transform.Sequential(
            [
                relax.transform.DecomposeOpsForInference(),
                relax.transform.CanonicalizeBindings(),
                *pipeline.library_dispatch_passes(target),
                *pipeline.legalize_passes(target),
            ]
        )(module)
        planned = tvm.transform.Sequential(
            [*pipeline.dataflow_lower_passes(target), *pipeline.finalize_passes(target)]
        )(_hide(legalized, written))
    return _replace(planned, {str(name.name_hint): function for name, function in written.items()})


def _hide(module: IRModule, written: Mapping[GlobalVar, PrimFunc]) -> IRModule:
    """The module with the written kernels' bodies taken out.

    The passes that lower dataflow need signatures only, but one of them looks into every kernel for a
    reshape: it fails on a kernel without blocks and turns one that copies into a view.
    """
    nothing = SBlock([], [], [], "root", Evaluate(IntImm("int32", 0)))
    body = SBlockRealize([], True, nothing)
    stubs = {str(name.name_hint): function.with_body(body) for name, function in written.items()}
    return _replace(module, stubs)


def _replace(module: IRModule, functions: Mapping[str, PrimFunc]) -> IRModule:
    """The module with these functions in the place of those of the same names, as far as it still has them.

    Passes may have given a function attributes since; a replaced one keeps those of its replacement, and
    the symbol under which the module now calls it.
    """
    replaced = {}
    for name, function in module.functions.items():
        other = functions.get(str(name.name_hint))
        symbol = (function.attrs or {}).get("global_symbol")
        if other is not None and symbol is not None:
            other = other.with_attr("global_symbol", symbol)
        replaced[name] = function if other is None else other
    return IRModule(replaced, attrs=module.attrs, global_infos=module.global_infos)


def planned_memory_bytes(lowered: IRModule) -> int | None:
    """Bytes of all storage that `main` of a lowered module allocates; None if a size is not static."""
    total = 0
    for call in _calls(lowered["main"]):
        if isinstance(call.op, Op) and call.op.name == _ALLOC_STORAGE:
            extents = call.args[0].values
            if not all(isinstance(extent, IntImm) for extent in extents):
                return None
            total += int(np.prod([int(extent) for extent in extents], dtype=np.int64))
    return total


def called_kernels(lowered: IRModule) -> tuple[str, ...]:
    """Names of the kernels that `main` of a lowered module calls, in the order of the first call."""
    return tuple(str(function.name_hint) for function in kernel_calls(lowered))


def kernel_calls(lowered: IRModule) -> dict[GlobalVar, int]:
    """How often `main` of a lowered module calls each of its kernels, in the order of the first call."""
    counts: dict[GlobalVar, int] = {}
    for call in _calls(lowered["main"]):
        if isinstance(call.op, GlobalVar) and isinstance(lowered[call.op], PrimFunc):
            counts[call.op] = counts.get(call.op, 0) + 1
    return counts


def _calls(function: relax.Function) -> list[Call]:
    calls: list[Call] = []

    def visit(expression: object) -> None:
        if isinstance(expression, Call):
            calls.append(expression)

    relax.analysis.post_order_visit(function, visit)
    return calls
