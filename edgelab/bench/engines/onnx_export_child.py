"""A task's model as an ONNX file, exported by PyTorch once for its content and kept in the cache."""

from __future__ import annotations

import hashlib
import importlib.metadata
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

from edgelab.bench.engines.engine import EngineFailure
from edgelab.bench.engines.runner_child import Work, first_line

_FORMAT = 1
OPSET = 18
"""Operator set of the file. From 20 on GELU is one operator, which MNN 3.6 always approximates (error 5e-4);
in 18 it is written out with erf, and both engines fuse and compute it exactly."""


def export(work: Work) -> Path:
    """Return the ONNX file of the task's model with inputs in0, in1, ... and outputs out0, out1, ...

    TorchDynamo's exporter writes it: the older one, which traces, is deprecated. Raises EngineFailure
    (unsupported) with the exporter's own reason.
    """
    return made_once(work.cache / "engines" / "onnx", _key(work), ".onnx", lambda path: _write(work, path))


def made_once(folder: Path, key: str, suffix: str, make: Callable[[Path], None]) -> Path:
    """Return the file of this content in `folder`; `make` writes it where there is none yet.

    It gets its name when it is whole, so that two processes at once both find a good one.
    """
    path = folder / f"{key}{suffix}"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as work:
        made = Path(work) / path.name
        make(made)
        made.replace(path)
    return path


def _key(work: Work) -> str:
    versions = map(importlib.metadata.version, ("torch", "onnx", "onnxscript"))
    return hashlib.sha256("\0".join([str(_FORMAT), str(OPSET), work.key, *versions]).encode()).hexdigest()


def _write(work: Work, path: Path) -> None:
    inputs = tuple(torch.from_numpy(array).clone() for array in work.example)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                work.task.model,
                inputs,
                path,
                dynamo=True,
                external_data=False,
                opset_version=OPSET,
                input_names=[f"in{index}" for index in range(len(inputs))],
                output_names=[output.name for output in work.outputs],
                verbose=False,
            )
    except Exception as error:
        cause = _innermost(error)
        message = f"the model cannot be exported to ONNX: {first_line(cause)}"
        raise EngineFailure("unsupported", message, detail=str(error)) from error


def _innermost(error: BaseException) -> BaseException:
    """The exporter wraps the reason in reports of how it tried; the reason is what they come from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
