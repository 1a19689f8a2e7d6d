"""A task's module as a live PyTorch model. Only child processes import this: it runs the task's file."""

from __future__ import annotations

import contextlib
import linecache
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch

from edgelab.errors import EdgeLabError, TaskError

WEIGHT_SEED = 0
"""Seed of the weights: the same for all inputs of a task."""

_PARTS = ("Model", "get_inputs", "get_init_inputs")

_DTYPES = frozenset(
    {
        *(torch.float16, torch.float32, torch.float64),
        *(torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.bool),
    }
)

_MODULE_NAME = "edgelab_task"


class Outputs(msgspec.Struct, frozen=True):
    """What a model returned, flat, and whether it was a tensor or a tuple."""

    tensors: tuple[torch.Tensor, ...]
    structure: Literal["tensor", "tuple"]


class TaskModel:
    """The model of one task, in evaluation mode, with weights drawn under `WEIGHT_SEED`.

    Every method raises TaskError that names the task, the file, the line in it, and what was raised there.
    """

    def __init__(self, task: str, path: Path, source: str) -> None:
        self.task = task
        self.path = path
        with self._blame("importing the file"):
            self._module = self._execute(source)
        for part in _PARTS:
            if not callable(getattr(self._module, part, None)):
                raise TaskError(
                    f"task {task}: {path} has no {'class' if part == 'Model' else 'function'} {part}.",
                    advice="A task file defines class Model, get_inputs() and get_init_inputs().",
                )
        self.model = self._build()

    def _execute(self, source: str) -> types.ModuleType:
        module = types.ModuleType(_MODULE_NAME)
        module.__file__ = str(self.path)
        # Tracebacks shall show the text as it ran, with the profile's constants.
        linecache.cache[str(self.path)] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            str(self.path),
        )
        sys.modules[_MODULE_NAME] = module
        # As if the file were run by `python FILE`: it may import what lies beside it.
        if str(self.path.parent) not in sys.path:
            sys.path.append(str(self.path.parent))
        exec(compile(source, str(self.path), "exec"), module.__dict__)
        return module

    def _build(self) -> torch.nn.Module:
        torch.manual_seed(WEIGHT_SEED)
        with self._blame("get_init_inputs()", self._module.get_init_inputs):
            arguments = list(self._module.get_init_inputs())
        with self._blame("Model(*get_init_inputs())", getattr(self._module.Model, "__init__", None)):
            model = self._module.Model(*arguments)
        if not isinstance(model, torch.nn.Module):
            raise TaskError(f"task {self.task}: Model in {self.path} is not a torch.nn.Module.")
        return model.eval()

    def draw_inputs(self, seed: int) -> tuple[torch.Tensor, ...]:
        """Return the inputs that `get_inputs()` draws under `seed`."""
        torch.manual_seed(seed)
        with self._blame("get_inputs()", self._module.get_inputs):
            drawn = self._module.get_inputs()
        if not isinstance(drawn, list | tuple) or not drawn:
            raise self._problem(f"get_inputs() returns {type(drawn).__name__}, not a list of tensors")
        return tuple(self._usable(value, f"get_inputs()[{index}]") for index, value in enumerate(drawn))

    def run(self, inputs: Sequence[torch.Tensor], *, model: torch.nn.Module | None = None) -> Outputs:
        """Return what the model, or `model` in its place, computes from copies of `inputs`."""
        copies = [value.clone() for value in inputs]
        with self._blame("Model.forward", getattr(self._module.Model, "forward", None)), torch.no_grad():
            returned = (self.model if model is None else model)(*copies)
        for index, (copy, value) in enumerate(zip(copies, inputs, strict=True)):
            if not torch.equal(copy.nan_to_num(), value.nan_to_num()):
                raise self._problem(f"Model.forward writes into its input {index}; let it copy first")
        if isinstance(returned, torch.Tensor):
            return Outputs((self._usable(returned, "the output"),), "tensor")
        if not isinstance(returned, list | tuple) or not returned:
            raise self._problem(
                f"Model.forward returns {type(returned).__name__}, not a tensor or a flat tuple of tensors"
            )
        tensors = [self._usable(value, f"output {index}") for index, value in enumerate(returned)]
        return Outputs(tuple(tensors), "tuple")

    def _usable(self, value: object, what: str) -> torch.Tensor:
        if not isinstance(value, torch.Tensor):
            raise self._problem(
                f"{what} is {type(value).__name__}, not a tensor; fixed values belong into get_init_inputs()"
            )
        if value.dtype not in _DTYPES:
            raise self._problem(f"{what} has dtype {value.dtype}, which no backend takes at its boundary")
        if value.layout is not torch.strided or value.device.type != "cpu":
            raise self._problem(f"{what} is not a dense tensor on the CPU")
        if value.numel() == 0:
            raise self._problem(f"{what} has shape {tuple(value.shape)}, without any element")
        return value.detach().contiguous()

    def _problem(self, what: str) -> TaskError:
        return TaskError(f"task {self.task}: {what} ({self.path}).")

    @contextlib.contextmanager
    def _blame(self, what: str, function: Any = None) -> Iterator[None]:
        """Turn whatever the file raises while doing `what` into a TaskError that points into the file."""
        try:
            yield
        except EdgeLabError:
            raise
        except (Exception, SystemExit) as error:
            line = _line_in(self.path, error) or _first_line_of(function, self.path)
            where = f"{self.path}, line {line}" if line else str(self.path)
            raise TaskError(
                f"task {self.task}: {what} raised {type(error).__name__}: {_text(error)} ({where})."
            ) from error


def _line_in(path: Path, error: BaseException) -> int | None:
    """The innermost line of the file that was running when `error` was raised."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _first_line_of(function: Any, path: Path) -> int | None:
    """Where a function of the file begins: a call that does not fit its signature raises outside of it."""
    code = getattr(function, "__code__", None)
    return code.co_firstlineno if code is not None and code.co_filename == str(path) else None


def _text(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return message.strip().split("\n", 1)[0] or "no message"
