"""The kernels of an imported program: each once, with how often it is called and its default library."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import tvm
from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from edgelab.kernel import guard, lowering
from edgelab.kernel.adapters import adapter
from edgelab.kernel.build_child import load_params, plain_target
from edgelab.kernel.tuning import kernels
from edgelab.kernel.tuning.builder import ForkBuilder
from edgelab.kernel.tuning.compiling import compile_kernel
from edgelab.kernel.tuning.protocol import Extracted, ExtractedKernel, ExtractRequest
from edgelab.kernel.tuning.search_class import search_class

_BUILD_LIMIT_S = 120.0
_MEMORY_LIMIT_BYTES = 8 << 30


def extract(request: ExtractRequest) -> Extracted:
    """Lower the program as its plain baseline is and describe the kernels that it then calls."""
    text = Path(request.program_path).read_text(encoding="utf-8-sig")
    module = tvm.script.from_source(guard.without_preamble(text), check_well_formed=False)
    params: dict[str, np.ndarray] = load_params(request.params_path)
    backend = adapter((request.target or {}).get("kind", "llvm"))
    target = backend.target(request.target)
    functions = _unique(backend.lower(lowering.bind_parameters(module, params), target))
    described = tuple(
        _described(name, weight, kernel, Path(request.folder), number)
        for number, (name, weight, kernel) in enumerate(functions)
    )
    builder = ForkBuilder(
        lambda candidate, library: compile_kernel(candidate, target, library),
        Path(request.folder),
        workers=len(os.sched_getaffinity(0)),
        limit_s=_BUILD_LIMIT_S,
        memory_limit_bytes=_MEMORY_LIMIT_BYTES,
    )
    return Extracted(
        kernels=described,
        plain=builder.build([kernels.alone(kernel) for _, _, kernel in functions]),
        target=plain_target(target),
        tvm_version=tvm.__version__,
    )


def _unique(lowered: IRModule) -> list[tuple[str, int, PrimFunc]]:
    """(name, number of calls, kernel) of every structurally different kernel, in the order of the first call."""
    found: dict[str, tuple[str, int, PrimFunc]] = {}
    for variable, count in lowering.kernel_calls(lowered).items():
        kernel = lowered[variable]
        digest = kernels.digest(kernels.alone(kernel))
        name, before, first = found.get(digest, (str(variable.name_hint), 0, kernel))
        found[digest] = (name, before + count, first)
    return list(found.values())


def _described(name: str, weight: int, kernel: PrimFunc, folder: Path, number: int) -> ExtractedKernel:
    module = kernels.alone(kernel)
    path = folder / f"kernel-{number}.json"
    path.write_text(tvm.ir.save_json(module))
    return ExtractedKernel(
        name=name,
        weight=weight,
        digest=kernels.digest(module),
        search_class=search_class(kernel),
        tensors=kernels.tensors(kernel) or (),
        module_path=str(path),
        untunable=kernels.why_untunable(kernel),
    )
