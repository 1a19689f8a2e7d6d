"""PyTorch's results for a task's seeds, and the tolerance that follows. Only child processes import this."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import msgspec
import numpy as np
import torch

from edgelab.bench.reductions_child import ReductionMeter
from edgelab.bench.reference import ErrorModel
from edgelab.bench.task_model_child import Outputs, TaskModel
from edgelab.bench.tolerance import OutputErrors, tolerance_of
from edgelab.drivers.worker_messages import Tolerance
from edgelab.errors import TaskError


class SeedResult(msgspec.Struct, frozen=True):
    """Inputs and outputs of one seed.

    `wide` are the outputs of the float64 form, None where it was not asked for or, with the reason in
    `wide_problem`, does not run.
    """

    inputs: tuple[torch.Tensor, ...]
    outputs: Outputs
    wide: tuple[torch.Tensor, ...] | None
    wide_problem: str = ""


def wide_form(loaded: TaskModel) -> torch.nn.Module | None:
    """The model with float64 weights; None for a module that cannot be copied."""
    try:
        return copy.deepcopy(loaded.model).double()
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return None


def compute(loaded: TaskModel, seed: int, wide_model: torch.nn.Module | None) -> SeedResult:
    """Run the model, and its float64 form if given, for one seed. Raises TaskError, also for NaN outputs."""
    return computed(loaded, loaded.draw_inputs(seed), wide_model, f"seed {seed}")


def computed(
    loaded: TaskModel, inputs: tuple[torch.Tensor, ...], wide_model: torch.nn.Module | None, name: str
) -> SeedResult:
    """`compute` for inputs that are there already; `name` says which in messages."""
    result = run_both(loaded, inputs, wide_model)
    for index, tensor in enumerate(result.outputs.tensors):
        if tensor.is_floating_point() and bool(torch.isnan(tensor).any()):
            raise TaskError(
                f"task {loaded.task}: output {index} has NaN for {name}, which nothing can match "
                f"({loaded.path})."
            )
    return result


def run_both(
    loaded: TaskModel, inputs: tuple[torch.Tensor, ...], wide_model: torch.nn.Module | None
) -> SeedResult:
    """Run the model, and its float64 form if given. Raises TaskError if the model itself does not run."""
    outputs = loaded.run(inputs)
    if wide_model is None:
        return SeedResult(inputs, outputs, None)
    widened = [value.double() if value.is_floating_point() else value for value in inputs]
    try:
        return SeedResult(inputs, outputs, loaded.run(widened, model=wide_model).tensors)
    except TaskError as error:
        return SeedResult(inputs, outputs, None, str(error))


def reduction_length(loaded: TaskModel, inputs: Sequence[torch.Tensor]) -> int:
    """Return the longest reduction of one operator of the model, in terms."""
    with ReductionMeter() as meter:
        loaded.run(inputs)
    return meter.longest


def measure(loaded: TaskModel, results: Sequence[SeedResult]) -> tuple[Tolerance, ErrorModel]:
    """Return the task's tolerance and where it comes from. Raises TaskError for an integer that rounding decides."""
    longest = reduction_length(loaded, results[0].inputs)
    errors = []
    for index, tensor in enumerate(results[0].outputs.tensors):
        pairs = [_pair(result, index) for result in results]
        if tensor.is_floating_point():
            errors.append(float_errors(str(tensor.numpy().dtype), pairs))
        elif any(wide is not None and not np.array_equal(wide, narrow) for narrow, wide in pairs):
            raise TaskError(
                f"task {loaded.task}: output {index} is {tensor.dtype} and differs between float32 and float64, "
                f"so that rounding decides it and no exact comparison is fair ({loaded.path})."
            )
    measured = [error.max_error for error in errors if error.max_error is not None]
    model = ErrorModel(longest, max(measured) if measured else None)
    return tolerance_of(errors, longest), model


def _pair(result: SeedResult, index: int) -> tuple[np.ndarray, np.ndarray | None]:
    narrow = result.outputs.tensors[index].double().numpy()
    return narrow, None if result.wide is None else result.wide[index].double().numpy()


def float_errors(dtype: str, pairs: Sequence[tuple[np.ndarray, np.ndarray | None]]) -> OutputErrors:
    """What is known of one float output; each pair is its float32 and its float64 values (None: no such form)."""
    values = np.concatenate([narrow.ravel() for narrow, _ in pairs])
    finite = values[np.isfinite(values)]
    with np.errstate(invalid="ignore"):
        differences = [np.abs(narrow - wide) for narrow, wide in pairs if wide is not None]
    measured = [float(np.max(d[np.isfinite(d)], initial=0.0)) for d in differences]
    return OutputErrors(
        dtype=dtype,
        rms=float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0,
        max_error=max(measured) if measured else None,
    )
