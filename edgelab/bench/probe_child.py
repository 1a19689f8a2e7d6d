"""A task's model under the test for degeneracy. Only child processes and tests import this."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from edgelab.bench.task_model_child import TaskModel

_COUNTERS = "num_batches_tracked"
"""Batch norm counts its training batches in a buffer that inference never reads."""

_OTHER_SEED_OFFSET = 7919


class TorchProbe:
    """`degenerate.Probe` over a live model."""

    def __init__(self, loaded: TaskModel) -> None:
        self._loaded = loaded
        tensors = {**dict(loaded.model.named_parameters()), **dict(loaded.model.named_buffers())}
        self._tensors = {name: t for name, t in tensors.items() if not name.endswith(_COUNTERS)}
        self.input_count = len(loaded.draw_inputs(0))

    @property
    def weights(self) -> Sequence[str]:
        """Names of parameters and buffers."""
        return tuple(self._tensors)

    def run(self, seed: int, *, redrawn: int | None = None, disturbed: str | None = None) -> list[np.ndarray]:
        """Outputs for the inputs of `seed`, with an input drawn again or a weight's elements moved by one."""
        inputs = list(self._loaded.draw_inputs(seed))
        if redrawn is not None:
            inputs[redrawn] = self._loaded.draw_inputs(seed + _OTHER_SEED_OFFSET)[redrawn]
        with self._disturbed(disturbed):
            outputs = self._loaded.run(inputs)
        return [tensor.numpy() for tensor in outputs.tensors]

    @contextlib.contextmanager
    def _disturbed(self, name: str | None) -> Iterator[None]:
        if name is None:
            yield
            return
        tensor = self._tensors[name].data
        kept = tensor.clone()
        # Moving elements keeps their distribution, so that a variance stays positive; a weight whose elements
        # are all alike can be left out by a candidate and is found, too.
        moved = kept.flatten().roll(1).reshape(kept.shape) if kept.numel() > 1 else _other(kept)
        tensor.copy_(moved)
        try:
            yield
        finally:
            tensor.copy_(kept)


def _other(value: torch.Tensor) -> torch.Tensor:
    if value.dtype is torch.bool:
        return ~value
    return value * 1.5 if value.is_floating_point() else value + 1
