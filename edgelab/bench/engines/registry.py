"""The engines that EdgeLab can compare with, by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from edgelab.bench.engines.engine import Engine, InstalledEngine
from edgelab.errors import UsageError

_CHILDREN = "edgelab.bench.engines"

ENGINES: tuple[Engine, ...] = (
    InstalledEngine(
        name="torch",
        title="PyTorch eager",
        runner=f"{_CHILDREN}.torch_child:EagerRunner",
        packages=("torch",),
    ),
    InstalledEngine(
        name="torch_compile",
        title="torch.compile (Inductor)",
        runner=f"{_CHILDREN}.torch_compile_child:CompiledRunner",
        packages=("torch",),
        compiler=True,
    ),
    InstalledEngine(
        name="onnxruntime",
        title="ONNX Runtime, CPU",
        runner=f"{_CHILDREN}.onnxruntime_child:OnnxRuntimeRunner",
        packages=("onnxruntime", "onnx", "onnxscript"),
        extra="engines",
    ),
    InstalledEngine(
        name="mnn",
        title="MNN, CPU, float32",
        runner=f"{_CHILDREN}.mnn_child:MnnRunner",
        packages=("mnn", "onnx", "onnxscript"),
        extra="engines",
    ),
)


def find_engine(name: str, engines: Sequence[Engine] = ENGINES) -> Engine:
    """Return the engine called `name`. Raises UsageError that offers the nearest names."""
    for engine in engines:
        if engine.name == name:
            return engine
    names = [engine.name for engine in engines]
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.4) or names
    raise UsageError(f"There is no engine {name!r}.", advice=f"Nearest: {', '.join(near)}.")
