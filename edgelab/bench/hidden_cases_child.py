"""Makes a task's hidden cases with PyTorch. Only child processes import this."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import numpy as np
import torch

from edgelab.bench.error_model_child import SeedResult, float_errors, run_both
from edgelab.bench.hidden_cases import HiddenCase, LeftOut
from edgelab.bench.structural_inputs import STRUCTURES, Structure, transform, unchanged
from edgelab.bench.task_model_child import TaskModel
from edgelab.bench.tolerance import OutputErrors, mismatched, tolerance_of
from edgelab.drivers.worker_messages import Tolerance
from edgelab.errors import TaskError

SPENT_S = 1.5
"""Once the cases have taken so much processor time, no more than `ENOUGH_CASES` are made."""

ENOUGH_CASES = 4

TELLING_SHARE = 0.001
"""Share of some output's elements that zeros have to get wrong; a softmax of large values leaves few others."""

LARGEST_RTOL = 0.02
"""A case that needs a looser tolerance would be decided by rounding."""


class MadeCase(msgspec.Struct, frozen=True):
    """A case with its tensors."""

    case: HiddenCase
    inputs: tuple[torch.Tensor, ...]
    outputs: tuple[torch.Tensor, ...]


class _NotTelling(Exception):
    """This structure says nothing about a program for this task; the text says why."""


def make_cases(
    loaded: TaskModel, seed: int, wide_model: torch.nn.Module | None, reduction_length: int
) -> tuple[list[MadeCase], list[LeftOut]]:
    """Return the cases under `seed` and what was left out, in an order that the seed decides.

    `reduction_length` is that of the task's error model.
    """
    begun_s = time.process_time()
    drawn = loaded.draw_inputs(seed)
    made: list[MadeCase] = []
    left_out: list[LeftOut] = []
    for number in np.random.default_rng(seed).permutation(len(STRUCTURES)):
        structure = STRUCTURES[number]
        try:
            if len(made) >= ENOUGH_CASES and time.process_time() - begun_s > SPENT_S:
                raise _NotTelling("left out for time: the model runs long and other cases are there")
            generator = np.random.default_rng([seed, number])
            made.append(_make(loaded, structure, drawn, generator, wide_model, reduction_length))
        except _NotTelling as reason:
            left_out.append(LeftOut(structure, str(reason)))
        except TaskError as error:
            left_out.append(LeftOut(structure, f"the model refuses such inputs: {error.message}"))
    return made, left_out


def _make(
    loaded: TaskModel,
    structure: Structure,
    drawn: Sequence[torch.Tensor],
    generator: np.random.Generator,
    wide_model: torch.nn.Module | None,
    reduction_length: int,
) -> MadeCase:
    before = [value.numpy() for value in drawn]
    after = transform(structure, before, generator)
    if unchanged(before, after):
        raise _NotTelling("it changes nothing in these inputs")
    if any(np.isfinite(new).sum() < np.isfinite(old).sum() for old, new in zip(before, after, strict=True)):
        raise _NotTelling("an input leaves the range of its dtype")
    inputs = tuple(torch.from_numpy(value) for value in after)
    result = run_both(loaded, inputs, wide_model)
    if result.wide_problem:
        raise _NotTelling(f"no float64 reference: {result.wide_problem}")
    _refuse_not_finite(result)
    errors = _errors(result, _disturbed(loaded, inputs, generator, wide_model))
    tolerance = tolerance_of(errors, reduction_length)
    _refuse_meaningless(result, tolerance)
    return MadeCase(HiddenCase(structure, tolerance), inputs, result.outputs.tensors)


def _refuse_not_finite(result: SeedResult) -> None:
    for tensor in (*result.outputs.tensors, *(result.wide or ())):
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise _NotTelling("the reference is not finite")


def _disturbed(
    loaded: TaskModel,
    inputs: Sequence[torch.Tensor],
    generator: np.random.Generator,
    wide_model: torch.nn.Module | None,
) -> tuple[torch.Tensor, ...]:
    """Outputs for inputs whose floats are off by one rounding error each.

    A correct program may be as far off as that: it solves a problem next to the given one (backward
    stability; Higham, Accuracy and Stability of Numerical Algorithms, section 1.5). PyTorch's own error says
    too little where its algorithm happens to be exact, as for the mean of a constant row.
    """
    return loaded.run(
        [_off_by_rounding(value, generator, wide=wide_model is not None) for value in inputs],
        model=wide_model,
    ).tensors


def _off_by_rounding(value: torch.Tensor, generator: np.random.Generator, *, wide: bool) -> torch.Tensor:
    if not value.is_floating_point():
        return value
    signs = torch.from_numpy(generator.choice([-1.0, 1.0], size=tuple(value.shape)))
    moved = value.double() * (1 + signs * max(torch.finfo(value.dtype).eps, torch.finfo(torch.float32).eps))
    return moved if wide else moved.to(value.dtype)


def _errors(result: SeedResult, disturbed: Sequence[torch.Tensor]) -> list[OutputErrors]:
    exact = result.wide or result.outputs.tensors
    errors = []
    for narrow, wide, moved in zip(result.outputs.tensors, exact, disturbed, strict=True):
        if not narrow.is_floating_point():
            if not torch.equal(narrow, wide) or not torch.equal(narrow, moved):
                raise _NotTelling("rounding decides an integer output")
            continue
        if not bool(torch.isfinite(moved).all()):
            raise _NotTelling("the reference is not finite one rounding error away")
        pairs = [(side.double().numpy(), wide.double().numpy()) for side in (narrow, moved)]
        errors.append(float_errors(str(narrow.numpy().dtype), pairs))
    return errors


def _refuse_meaningless(result: SeedResult, tolerance: Tolerance) -> None:
    if tolerance.rtol > LARGEST_RTOL:
        raise _NotTelling(f"rounding decides the result: it would need a tolerance of {tolerance.rtol:.1g}")
    outputs = [tensor.numpy() for tensor in result.outputs.tensors]
    shares = [float(mismatched(np.zeros_like(value), value, tolerance).mean()) for value in outputs]
    if max(shares) < TELLING_SHARE:
        raise _NotTelling("zeros would pass")
