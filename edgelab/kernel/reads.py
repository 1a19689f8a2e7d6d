"""Refuses kernels that read memory which nothing in them has written.

Such memory is not empty: verification fills it with a pattern and the memory pool hands back the last call's
results, so a kernel that reads it can tell the phases of an evaluation apart or return what is already there.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import functools
from collections.abc import Sequence

from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, Op, Var
from tvm.tirx import IntImm, PrimFunc

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel.access_ranges import Span, implies, may_meet, spans
from edgelab.kernel.accesses import Access, Loop, accesses, analyzer, common_loops, first_turn
from edgelab.kernel.bounds import written


def check_reads_follow_writes(module: IRModule) -> None:
    """Raise EvaluationFailure (hack) for a load of unwritten memory, (numeric) for an output left unfinished.

    A kernel's inputs count as written, its outputs and its own buffers do not. A load is refused only if no
    store of the kernel can have come first:

    - It may run in the first turn of all its loops, and no store before it in program order can have reached
      those elements by then. `T.init` comes first in its block.
    - Its conditions keep it from running in the first turn (`if i > 0`, as in a prefix sum or a pipeline), and
      every store that could reach it runs only under the same conditions, so again none came first.

    What cannot be told is admitted: stores are compared by the hull of their indices, so a store to even
    elements counts for odd ones, and a condition that holds for no data at all counts as one that may hold.
    The one exception is a store under a condition on the kernel's arguments: it counts only for loads under
    such a condition, since else a store that never happens would excuse any load.

    A kernel that provably never reaches some elements of an output that other operators use is refused too,
    because those take it as written.
    """
    for name, (inputs, used) in _kernels(module).items():
        _check_kernel(str(name.name_hint), module[name], inputs, used)


def _check_kernel(name: str, function: PrimFunc, inputs: int, used: bool) -> None:
    reads = _Reads(function, list(function.params[:inputs]))
    for load in reads.unwritten():
        place = f" (line {load.line})" if load.line else ""
        raise EvaluationFailure(
            FailureClass.HACK,
            f"kernel {name} reads {load.root.name} before anything in it was written: "
            f"{written(load)}{place}; write it first, for example with T.init()",
        )
    for output in function.params[inputs:] if used else ():
        if not reads.covers(output):
            raise EvaluationFailure(
                FailureClass.NUMERIC,
                f"kernel {name} leaves elements of its output {output.name} unwritten, "
                "which other operators read",
            )


def _kernels(module: IRModule) -> dict[GlobalVar, tuple[int, bool]]:
    """Kernels that the module calls, with the number of their inputs and whether operators use the outputs."""
    found: dict[GlobalVar, tuple[int, bool]] = {}
    for function in module.functions.values():
        if not isinstance(function, relax.Function):
            continue
        bindings = [binding for block in function.body.blocks for binding in block.bindings]
        used = {var for binding in bindings for var in _used(binding.value)}
        for binding in bindings:
            call = binding.value
            if not (isinstance(call, Call) and isinstance(call.op, Op) and call.op.name == "relax.call_tir"):
                continue
            kernel, arguments = call.args[0], call.args[1]
            if isinstance(kernel, GlobalVar) and isinstance(module[kernel], PrimFunc):
                before = found.get(kernel, (0, False))[1]
                found[kernel] = len(arguments.ty.fields), before or binding.var in used
    return found


def _used(value: relax.Expr) -> list[Var]:
    """Variables that an operator, a kernel or a tuple's element is computed from; not those of a plain alias."""
    return [] if isinstance(value, Var | relax.Tuple) else list(relax.analysis.free_vars(value))


class _Reads:
    """The loads and stores of one kernel, to be judged against each other."""

    def __init__(self, function: PrimFunc, inputs: Sequence[Var]) -> None:
        self._parameters = set(function.params)
        self._accesses = accesses(function)
        self._stores: dict[Var, list[tuple[int, Access]]] = {}
        for position, access in enumerate(self._accesses):
            if access.is_store:
                self._stores.setdefault(access.root, []).append((position, access))
        self._inputs = set(inputs)
        self._spans = functools.cache(spans)

    def covers(self, output: Var) -> bool:
        """Whether the hull of all stores to `output` is all of it, as far as that can be told."""
        reached = [(store, self._spans(store)) for _, store in self._stores.get(output, [])]
        places = [(store, where) for store, where in reached if where is not None]
        if any(not store.buffer.same_as(output) for store, _ in places):
            return True
        return bool(places) and all(
            min(where[axis][0] for _, where in places) <= 0
            and max(where[axis][1] for _, where in places) >= int(extent) - 1
            for axis, extent in enumerate(output.ty.shape)
            if isinstance(extent, IntImm)
        )

    def unwritten(self) -> list[Access]:
        """The first load that reads what nothing wrote, or nothing."""
        for position, load in enumerate(self._accesses):
            if (
                not load.is_store
                and load.root not in self._inputs
                and not self._may_be_written(position, load)
            ):
                return [load]
        return []

    def _may_be_written(self, position: int, load: Access) -> bool:
        everywhere = self._spans(load)
        if everywhere is None:
            return True
        stores = [pair for pair in reversed(self._stores.get(load.root, [])) if self._counts(pair[1], load)]
        first = self._spans(load, first_turn(load))
        if first is not None and not self._counted(load):
            earlier = (store for at, store in stores if at < position)
            return any(self._meets(store, load, common_loops(store, load), first) for store in earlier)
        known = analyzer(load)
        return any(
            (at < position or common_loops(store, load))
            and self._meets(store, load, (), everywhere)
            and not implies(known, store.guards, load.guards)
            for at, store in stores
        )

    def _meets(self, store: Access, load: Access, at_first: tuple[Loop, ...], where: Sequence[Span]) -> bool:
        reached = self._spans(store, at_first)
        return reached is not None and may_meet(reached, where, store, load)

    def _counts(self, store: Access, load: Access) -> bool:
        return not self._on_arguments(store) or any(guard.reads for guard in load.guards)

    def _on_arguments(self, access: Access) -> bool:
        return any(root in self._parameters for guard in access.guards for root in guard.reads)

    def _counted(self, load: Access) -> bool:
        """Whether the load is in a `while` and under conditions on the kernel's own counters only."""
        if all(loop.var is not None for loop in load.loops):
            return False
        own = [guard for guard in load.guards if guard.reads and load.root not in guard.reads]
        return len(own) > 1 and not self._on_arguments(load)
