"""Tasks of the catalogue as programs, imported in this process, and running them on a backend of this machine."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
import tvm
from tvm import relax

from edgelab.bench.tasks import Catalogue, catalogue_root
from edgelab.kernel import lowering
from edgelab.kernel.adapters import adapter
from edgelab.kernel.importer import ImportedProgram, import_model

DEVICES = {"llvm": tvm.cpu, "opencl": lambda: tvm.device("opencl", 0)}


class TaskProgram(msgspec.Struct, frozen=True):
    """A task's imported program and one set of its inputs."""

    imported: ImportedProgram
    inputs: list[Any]


def task_names() -> list[str]:
    """Names of all tasks of the catalogue."""
    return [spec.name for spec in Catalogue.load(catalogue_root()).specs]


def task_program(name: str) -> TaskProgram:
    """Import the task `name`, with weights and inputs of a fixed seed."""
    spec = Catalogue.load(catalogue_root()).find(name)
    module = types.ModuleType(f"task_{name}")
    # torch.export looks a model's own class up by its module.
    sys.modules[module.__name__] = module
    torch.manual_seed(0)
    exec(compile(spec.source(), str(spec.path), "exec"), module.__dict__)
    model = module.Model(*module.get_init_inputs()).eval()
    inputs = module.get_inputs()
    return TaskProgram(import_model(model, inputs, task=name), [value.numpy() for value in inputs])


def build(text: str, params: dict[str, np.ndarray], kind: str, target: dict[str, Any] | None = None):
    """The adapter and the executable of a program on a backend, by the steps of a build child."""
    backend = adapter(kind)
    chosen = backend.target(target)
    module = lowering.keep_written_kernels(tvm.script.from_source(text))
    lowered = backend.lower(lowering.bind_parameters(module, params), chosen)
    return backend, backend.build(lowered, chosen)


def run(backend: Any, executable: Any, inputs: list[np.ndarray], path: Path) -> list[np.ndarray]:
    """Export the executable to `path`, load it and call `main` on the backend's device."""
    backend.export(executable, path)
    device = DEVICES[backend.name]()
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(path)), device)
    result = machine["main"](*[tvm.runtime.tensor(value, device) for value in inputs])
    outputs = [result] if isinstance(result, tvm.runtime.Tensor) else list(result)
    return [output.numpy() for output in outputs]
