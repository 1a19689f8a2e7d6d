"""What any program of a task has to read and compute, seen from PyTorch. Only child processes import this."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode

from edgelab.bench.roofline_floor import LeastWork
from edgelab.bench.task_model_child import Outputs, TaskModel

_COTANGENT_SEED = 1


def least_work(loaded: TaskModel, inputs: Sequence[torch.Tensor], outputs: Outputs) -> LeastWork:
    """Return the least work of the model for `inputs`, of which `outputs` are the results.

    An element counts as read when the derivative of a random weighting of the outputs by it is not zero.
    Integers and booleans have no derivative and what a step function hides has none either: they do not count.
    """
    counter = FlopCounterMode(display=False)
    with counter:
        loaded.run(inputs)
    leaves = [value.clone().requires_grad_(value.is_floating_point()) for value in inputs]
    weights = [weight for weight in loaded.model.parameters() if weight.requires_grad]
    read = _read_bytes(loaded.model, leaves, [leaf for leaf in leaves if leaf.requires_grad], weights)
    return LeastWork(
        input_bytes=read[0],
        weight_bytes=read[1],
        output_bytes=sum(tensor.nbytes for tensor in outputs.tensors),
        flops=int(counter.get_total_flops()),
    )


def _read_bytes(
    model: torch.nn.Module,
    arguments: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
) -> tuple[int, int]:
    generator = torch.Generator().manual_seed(_COTANGENT_SEED)
    try:
        with torch.enable_grad():
            returned = model(*arguments)
            tensors = [returned] if isinstance(returned, torch.Tensor) else list(returned)
            weighed = [
                (tensor * torch.randn(tensor.shape, generator=generator).to(tensor.dtype)).sum()
                for tensor in tensors
                if tensor.requires_grad
            ]
            gradients = (
                torch.autograd.grad(weighed, [*inputs, *weights], allow_unused=True) if weighed else ()
            )
    except RuntimeError:
        # An operator without a derivative: what it reads is not known, and the bound is lower for it.
        return 0, 0
    found = [0 if g is None else int(torch.count_nonzero(g)) * g.element_size() for g in gradients]
    return sum(found[: len(inputs)]), sum(found[len(inputs) :])
