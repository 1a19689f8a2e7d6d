"""ONNX Runtime on the CPU: one session over the exported model, inputs and outputs bound beforehand."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgelab.bench.engines.onnx_export_child import OPSET, export
from edgelab.bench.engines.runner_child import Work

# Optional and without types: a type checker may not find it.
onnxruntime: Any = importlib.import_module("onnxruntime")


class OnnxRuntimeRunner:
    """A session with all graph optimisations and the CPU provider."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.call: Callable[[], Any]
        self._model = Path()
        self._threads = 1
        self._session: Any = None
        self._binding: Any = None
        self._outputs: tuple[str, ...] = ()

    def prepare(self, work: Work) -> None:
        """Export, open a session and run once."""
        self._model = export(work)
        self._threads = work.threads
        self._outputs = tuple(output.name for output in work.outputs)
        self.renew()
        self.settings |= {
            "threads": str(self._session.get_session_options().intra_op_num_threads),
            "provider": ", ".join(self._session.get_providers()),
            "graph_optimization": "all",
            "spinning": "stops when a call ends",
            "opset": str(OPSET),
        }
        self.take(work.example)
        self.call()

    def renew(self) -> None:
        """Open another session."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        # Idle threads otherwise spin for more than 10 ms and would run into the other side's block.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(self._model), options, providers=["CPUExecutionProvider"]
        )

    def take(self, inputs: Sequence[np.ndarray]) -> None:
        """Copy the inputs into the runtime's own tensors; it allocates the outputs in each call."""
        binding = self._session.io_binding()
        wanted = {value.name for value in self._session.get_inputs()}
        for index, array in enumerate(inputs):
            if f"in{index}" in wanted:
                # A tensor over numpy's memory would not be the runtime's own.
                value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
                    array.shape, array.dtype.type, "cpu"
                )
                value.update_inplace(np.ascontiguousarray(array))
                binding.bind_ortvalue_input(f"in{index}", value)
        for name in self._outputs:
            binding.bind_output(name, "cpu")
        self._binding = binding
        self.call = functools.partial(self._session.run_with_iobinding, binding)

    def outputs(self, returned: Any) -> list[np.ndarray]:
        """Return the bound outputs of the last call."""
        return list(self._binding.copy_outputs_to_cpu())

    def mode(self) -> contextlib.AbstractContextManager[object]:
        """Nothing is needed around a call."""
        return contextlib.nullcontext()
