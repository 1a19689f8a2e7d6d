"""torch.compile: the model through TorchDynamo and Inductor, which writes and compiles C++ for the CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import torch
import torch._inductor.config as inductor

from edgelab.bench.engines.torch_child import EagerRunner


class CompiledRunner(EagerRunner):
    """The compiled model. It is compiled by the call that `prepare` makes, and not again: shapes are static."""

    def compiled(self, model: torch.nn.Module) -> Callable[..., Any]:
        """Return the model through Inductor with its weights as constants, as the other engines have them."""
        inductor.freezing = True
        # A failure to compile is the answer; falling back to eager would be timed under the wrong name.
        torch._dynamo.config.suppress_errors = False
        torch._dynamo.config.error_on_recompile = True
        self.settings |= {
            "backend": "inductor",
            "freezing": "on",
            "dynamic": "off",
            "compiler": _compiler_version(),
        }
        return torch.compile(model, backend="inductor", dynamic=False)

    def renew(self) -> None:
        """Keep the compiled code and its constants: making them anew takes many seconds."""


def _compiler_version() -> str:
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    if compiler is None:
        raise FileNotFoundError("there is no C++ compiler g++")
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True, timeout=30)
    return said.stdout.splitlines()[0]
