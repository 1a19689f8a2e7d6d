"""Backend adapters by name. A new backend is one module here that registers one class."""

from __future__ import annotations

import importlib

from edgelab.errors import UsageError
from edgelab.kernel.adapters.base import Adapter

_CLASSES = {
    "cuda": "edgelab.kernel.adapters.cuda:CudaAdapter",
    "llvm": "edgelab.kernel.adapters.llvm:LlvmAdapter",
    "opencl": "edgelab.kernel.adapters.opencl:OpenClAdapter",
}


def names() -> tuple[str, ...]:
    """Backends that can be compiled for."""
    return tuple(sorted(_CLASSES))


def adapter(name: str) -> Adapter:
    """The adapter of the backend `name` (a TVM target kind). Raises UsageError for an unknown one.

    The class is imported on first use, because adapters import TVM.
    """
    if name not in _CLASSES:
        raise UsageError(f"There is no backend {name!r}.", advice=f"Known backends: {', '.join(names())}.")
    module, _, attribute = _CLASSES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)()
