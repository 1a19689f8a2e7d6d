"""PyTorch as it comes: every operator of the model is called in turn."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from edgelab.bench.engines.runner_child import Work


class EagerRunner:
    """The model itself, in inference mode."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.call: Callable[[], Any] = _no_inputs
        self._model: Callable[..., Any] = _no_inputs
        self._module = torch.nn.Module()

    def prepare(self, work: Work) -> None:
        """Set the threads and run the model once."""
        torch.set_num_threads(work.threads)
        torch.set_num_interop_threads(1)
        self._module = work.task.model
        self._model = self.compiled(work.task.model)
        self.settings |= {
            "threads": str(torch.get_num_threads()),
            "mode": "inference_mode",
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        }
        self.take(work.example)
        with self.mode():
            self.call()

    def compiled(self, model: torch.nn.Module) -> Callable[..., Any]:
        """Return what is called in the model's place."""
        return model

    def renew(self) -> None:
        """Move the weights to new memory."""
        for tensor in (*self._module.parameters(), *self._module.buffers()):
            tensor.data = tensor.data.clone()

    def take(self, inputs: Sequence[np.ndarray]) -> None:
        """Copy the inputs into tensors."""
        tensors = [torch.from_numpy(array).clone() for array in inputs]
        self.call = functools.partial(self._model, *tensors)

    def outputs(self, returned: Any) -> list[np.ndarray]:
        """Return the tensor or the tensors of the tuple; a model may hand on an input as it is."""
        tensors = [returned] if isinstance(returned, torch.Tensor) else list(returned)
        return [tensor.detach().numpy() for tensor in tensors]

    def mode(self) -> contextlib.AbstractContextManager[object]:
        """Return inference mode: no gradients, no version counters."""
        return torch.inference_mode()


def _no_inputs(*_: object) -> Any:
    raise RuntimeError("no inputs were given")
