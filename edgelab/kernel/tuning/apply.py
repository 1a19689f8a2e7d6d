"""Puts stored schedules into a lowered program."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir import IRModule

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import lowering
from edgelab.kernel.tuning import fast_intrinsics, kernels
from edgelab.kernel.tuning.search import replay

_INTRINSIC_STEP = '"Tensorize"'


def scheduled(lowered: IRModule, schedules: Mapping[str, str]) -> IRModule:
    """The lowered module with each kernel under its schedule.

    `schedules` has the trace (JSON text) of every kernel by its digest; an empty one is the default schedule.
    Raises EvaluationFailure (infrastructure) for a kernel that has none: the program would be tuned in part and
    be taken for a tuned one. Raises it as well for a trace that does not fit.
    """
    if any(_INTRINSIC_STEP in trace for trace in schedules.values()):
        fast_intrinsics.load()
    functions = dict(lowered.functions.items())
    for variable in lowering.kernel_calls(lowered):
        name, kernel = str(variable.name_hint), lowered[variable]
        module = kernels.alone(kernel)
        trace = schedules.get(kernels.digest(module))
        if trace is None:
            raise _stale(f"kernel {name} was not tuned")
        if trace:
            try:
                replacement = replay(module, trace).mod["main"]
            except Exception as error:
                raise _stale(f"the schedule of kernel {name} does not fit it: {error}") from error
            functions[variable] = kernels.scheduled(kernel, replacement)
    return IRModule(functions, attrs=lowered.attrs, global_infos=lowered.global_infos)


def _stale(what: str) -> EvaluationFailure:
    return EvaluationFailure(
        FailureClass.INFRASTRUCTURE,
        f"the tuned baseline cannot be built: {what}",
        advice="Tune the task again: edgelab tune.",
    )
