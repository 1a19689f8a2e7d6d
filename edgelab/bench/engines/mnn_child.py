"""MNN on the CPU in float32: the exported ONNX model through MNN's converter, run by its interpreter."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgelab.bench.engines.engine import EngineFailure
from edgelab.bench.engines.onnx_export_child import OPSET, export, made_once
from edgelab.bench.engines.runner_child import Work
from edgelab.kernel.program import TensorSpec

# Optional and without types: a type checker may not find them.
MNN: Any = importlib.import_module("MNN")
converter: Any = importlib.import_module("_tools")
"""MNN's converter, which its package installs under this name."""

_SIGNS = ("[ERROR]", "Error", "error", "not support", "Not support", "Check failed")
_MAX_CAPTURED_BYTES = 1 << 20
_NARROWED = {"int64": "int32", "bool": "int32"}
"""Dtypes that the converter turns into others: MNN computes no 64-bit integers and no booleans."""


class MnnRunner:
    """An interpreter and its session: CPU backend, precision `high`, which is float32 throughout."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.call: Callable[[], Any]
        self._model = Path()
        self._threads = 1
        self._specs: tuple[TensorSpec, ...] = ()
        self._interpreter: Any = None
        self._session: Any = None

    def prepare(self, work: Work) -> None:
        """Export, convert, open a session and run once."""
        onnx = export(work)
        key = f"{onnx.stem}\0{importlib.metadata.version('mnn')}"
        self._model = made_once(
            work.cache / "engines" / "mnn",
            hashlib.sha256(key.encode()).hexdigest(),
            ".mnn",
            functools.partial(_convert, onnx),
        )
        self._threads, self._specs = work.threads, work.outputs
        self.settings |= {
            "threads": str(work.threads),
            "backend": "CPU",
            "precision": "high",
            "opset": str(OPSET),
        }
        self.renew()
        self.take(work.example)
        self._check(self.call())

    def renew(self) -> None:
        """Open another session with an interpreter of its own."""
        self._session = None
        self._interpreter = MNN.Interpreter(str(self._model))
        options = {"backend": "CPU", "numThread": self._threads, "precision": "high"}
        with captured_output() as said:
            self._session = self._interpreter.createSession(options)
        if self._session is None:
            raise EngineFailure("unsupported", f"no session could be made: {said.reason}")

    def take(self, inputs: Sequence[np.ndarray]) -> None:
        """Copy the inputs into the session's own tensors."""
        tensors = self._interpreter.getSessionInputAll(self._session)
        for index, array in enumerate(inputs):
            if (target := tensors.get(f"in{index}")) is not None:
                self._copy_in(index, array, target)
        self.call = functools.partial(self._interpreter.runSession, self._session)

    def _copy_in(self, index: int, array: np.ndarray, target: Any) -> None:
        dtype = _dtype_of(target)
        if dtype != _NARROWED.get(array.dtype.name, array.dtype.name):
            raise EngineFailure(
                "unsupported", f"MNN takes no {array.dtype.name}: input {index} would become {dtype}"
            )
        narrow = np.ascontiguousarray(array, dtype=dtype)
        if not np.array_equal(narrow, array):
            raise EngineFailure("unsupported", f"values of input {index} do not fit into {dtype}")
        host = MNN.Tensor(array.shape, target.getDataType(), narrow, MNN.Tensor_DimensionType_Caffe)
        if not target.copyFrom(host):
            raise EngineFailure("unsupported", f"input {index} could not be copied into the session")
        self._note_narrowed(f"input {index}", array.dtype.name, dtype)

    def _note_narrowed(self, what: str, wanted: str, dtype: str) -> None:
        if wanted != dtype:
            self.settings[what] = f"{wanted} computed as {dtype}"

    def outputs(self, returned: Any) -> list[np.ndarray]:
        """Return the session's outputs, integers and booleans in the task's own dtype."""
        self._check(returned)
        tensors = self._interpreter.getSessionOutputAll(self._session)
        arrays = []
        for spec in self._specs:
            if (tensor := tensors.get(spec.name)) is None:
                raise EngineFailure("unsupported", f"the converted model has no output {spec.name}")
            arrays.append(self._copy_out(spec, tensor))
        return arrays

    def _copy_out(self, spec: TensorSpec, tensor: Any) -> np.ndarray:
        dtype, shape = _dtype_of(tensor), tuple(tensor.getShape())
        array = np.empty(shape, dtype=dtype)
        host = MNN.Tensor(shape, tensor.getDataType(), array, MNN.Tensor_DimensionType_Caffe)
        if not tensor.copyToHostTensor(host):
            raise EngineFailure("failed", f"output {spec.name} could not be copied out of the session")
        got = np.array(host.getNumpyData(), copy=True).reshape(shape)
        if _NARROWED.get(spec.dtype) == dtype:
            self._note_narrowed(f"output {spec.name}", spec.dtype, dtype)
            return got.astype(spec.dtype)
        return got

    @staticmethod
    def _check(status: Any) -> None:
        if status != 0:
            raise EngineFailure("failed", f"runSession returned the error {status}")

    def mode(self) -> contextlib.AbstractContextManager[object]:
        """Nothing is needed around a call."""
        return contextlib.nullcontext()


def _dtype_of(tensor: Any) -> str:
    """Return numpy's name of a session tensor's dtype."""
    kinds = {
        MNN.Halide_Type_Float: "float32",
        MNN.Halide_Type_Int: "int32",
        MNN.Halide_Type_Uint8: "uint8",
        MNN.Halide_Type_Double: "float64",
        MNN.Halide_Type_Int64: "int64",
    }
    return kinds.get(tensor.getDataType(), "unknown")


def _convert(onnx: Path, path: Path) -> None:
    # Exact GELU: the comparison is one of float32 programs that compute the same.
    exact = ("--useGeluApproximation", "0")
    arguments = ["mnnconvert", *exact, "-f", "ONNX", "--modelFile", str(onnx), "--MNNModel", str(path)]
    with captured_output() as said:
        # Not through MNN.tools.mnnconvert: that reports what was converted to a server.
        converter.mnnconvert([*arguments, "--bizCode", "edgelab"])
    if not path.is_file():
        # It says True also when it failed.
        raise EngineFailure("unsupported", f"MNN's converter: {said.reason}", detail=said.text)


class Captured:
    """What libraries printed while it was captured; complete when that is over."""

    text = ""

    @property
    def reason(self) -> str:
        """The first line that sounds like an error, else the last one."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        chosen = [line for line in lines if any(sign in line for sign in _SIGNS)]
        return (chosen or lines[-1:] or ["it says nothing"])[0]


@contextlib.contextmanager
def captured_output() -> Iterator[Captured]:
    """Capture what libraries print meanwhile, at the level of descriptors; it then goes to standard error, too."""
    captured = Captured()
    with tempfile.TemporaryFile() as file:
        kept = [(descriptor, os.dup(descriptor)) for descriptor in (1, 2)]
        try:
            for descriptor, _ in kept:
                os.dup2(file.fileno(), descriptor)
            yield captured
        finally:
            for descriptor, copy in kept:
                os.dup2(copy, descriptor)
                os.close(copy)
            captured.text = os.pread(file.fileno(), _MAX_CAPTURED_BYTES, 0).decode(errors="replace")
            sys.stderr.write(captured.text)
            sys.stderr.flush()
