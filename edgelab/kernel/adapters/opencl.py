"""OpenCL backend: kernels travel as source, which the device's driver compiles; the host part is linked here."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Call, Op
from tvm.relax.backend.gpu_generic import pipeline

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel.adapters import device_source, gpu_lowering
from edgelab.kernel.adapters.llvm import host_target, link
from edgelab.kernel.source_guard import opencl as guard

_WRONG_OPERATORS = ("relax.cumsum", "relax.cumprod")
"""TVM's scan kernel counts on threads that run in lockstep, which OpenCL does not promise: wrong without an error."""


class OpenClAdapter:
    """Lowers with the fused GPU pipeline and TVM's default GPU schedules; runs on EdgeLab's OpenCL runtime."""

    name = "opencl"
    source_suffix = ".cl"

    def target(self, description: dict[str, Any] | None) -> tvm.target.Target:
        """The described target, or what every OpenCL device can do; the host is this CPU unless it says other."""
        wanted: dict[str, Any] = {"kind": "opencl"} if description is None else dict(description)
        wanted.setdefault("host", host_target().target)
        return tvm.target.Target(wanted)

    def lower(self, module: tvm.IRModule, target: tvm.target.Target) -> tvm.IRModule:
        """See `gpu_lowering.lower`. Raises EvaluationFailure (syntax_api) for an operator without a right kernel."""
        for name, function in module.functions.items():
            if isinstance(function, relax.Function):
                _refuse_wrong_operators(str(name.name_hint), function)
        return gpu_lowering.lower(module, target, pipeline)

    def build(self, lowered: tvm.IRModule, target: tvm.target.Target) -> device_source.DeviceExecutable:
        """Executable with the OpenCL C of all kernels."""
        return device_source.generate(lowered, target)

    def source(self, executable: device_source.DeviceExecutable) -> str:
        """OpenCL C of all kernels."""
        return executable.source

    def with_source(
        self, executable: device_source.DeviceExecutable, source: str
    ) -> device_source.DeviceExecutable:
        """See Adapter. Whether the source compiles shows on the device, whose driver compiles it."""
        guard.check(source, executable.source)
        edit = device_source.edit_of(executable.source, source)
        return device_source.generate(executable.lowered, executable.target, edit=edit)

    def export(self, executable: device_source.DeviceExecutable, path: Path) -> None:
        """Shared library at `path` for the target's host. Raises what `llvm.link` raises."""
        executable.machine.export_library(str(path), fcompile=link)


def _refuse_wrong_operators(name: str, function: relax.Function) -> None:
    found: list[str] = []

    def visit(node: object) -> None:
        if isinstance(node, Call) and isinstance(node.op, Op) and str(node.op.name) in _WRONG_OPERATORS:
            found.append(str(node.op.name))

    relax.analysis.post_order_visit(function, visit)
    if found:
        raise EvaluationFailure(
            FailureClass.SYNTAX_API,
            f"{name} uses {found[0]}, whose kernel gives wrong results on the opencl backend",
            advice="Write it as a kernel of its own (R.call_tir).",
        )
