"""The two kinds of sides in a comparison: a compiled program in the worker, and an engine in its process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

import numpy as np

from edgelab.bench.artefacts import Artefact
from edgelab.bench.engines.engine import EngineFailure
from edgelab.bench.engines.engine_process import EngineProcess
from edgelab.bench.reference import ReferenceBundle
from edgelab.drivers import worker_messages as messages
from edgelab.drivers.transport import Transport
from edgelab.drivers.worker_client import WorkerClient
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.worker.compare import Comparison, Tolerance, compare

_CALL_LIMIT_S = 300.0


class CheckedSide(Protocol):
    """A side that can also be checked against PyTorch's outputs."""

    async def check(self, bundle: ReferenceBundle, seed: int, what: str) -> None:
        """Compare outputs for the inputs of `seed`, called `what` in messages; raises when they differ."""
        ...

    async def renew(self, inputs: Path) -> None:
        """See `alternation.Side`."""
        ...

    async def block(self, *, calls_per_block: int, warm_calls: int, time_s: float) -> messages.Block:
        """See `alternation.Side`."""
        ...


class ProgramSide:
    """A compiled program under `name` in a child of the worker."""

    def __init__(
        self,
        name: str,
        worker: WorkerClient,
        transport: Transport,
        artefact: Artefact,
        limits: messages.Limits,
    ) -> None:
        self._name = name
        self._worker = worker
        self._transport = transport
        self._artefact = artefact
        self._limits = limits

    async def load(self) -> None:
        """Load it, in place of its child of before."""
        artefact = await self._transport.put(self._artefact.path)
        await self._worker.load(self._name, artefact, self._limits)

    async def check(self, bundle: ReferenceBundle, seed: int, what: str) -> None:
        """Raise `EvaluationFailure` (infrastructure) when the program is wrong: nothing compares with it then."""
        found = await self._worker.verify(
            self._name,
            inputs=await self._transport.put(bundle.inputs_path(seed)),
            expected=await self._transport.put(bundle.expected_path(seed)),
            tolerance=bundle.meta.tolerance,
            time_s=_CALL_LIMIT_S,
        )
        if not found.ok:
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"The {self._name} baseline of {bundle.meta.task} is wrong for {what}: {found.message}",
                advice="TVM miscompiles this task or its tolerance is too tight; compare with another baseline.",
            )

    async def renew(self, inputs: Path) -> None:
        """Load it anew, with the inputs that are timed."""
        await self.load()
        await self._worker.prepare_timing(self._name, inputs=await self._transport.put(inputs))

    async def block(self, *, calls_per_block: int, warm_calls: int, time_s: float) -> messages.Block:
        """Time one block in the worker."""
        return await self._worker.block(
            self._name, calls_per_block=calls_per_block, warm_calls=warm_calls, time_s=time_s
        )


class EngineSide:
    """An engine that is prepared for the task."""

    def __init__(self, process: EngineProcess) -> None:
        self._process = process

    async def check(self, bundle: ReferenceBundle, seed: int, what: str) -> None:
        """Raise `EngineFailure` (wrong) when the engine's outputs differ from PyTorch's."""
        await self._process.take(bundle.inputs_path(seed))
        got = await self._process.call(_CALL_LIMIT_S)
        expected = await asyncio.to_thread(read_expected, bundle.expected_path(seed))
        tolerance = Tolerance(bundle.meta.tolerance.rtol, bundle.meta.tolerance.atol)
        if problem := await asyncio.to_thread(difference, got, expected, tolerance):
            name = self._process.name
            raise EngineFailure("wrong", f"{name} is wrong on {bundle.meta.task} for {what}: {problem}.")

    async def renew(self, inputs: Path) -> None:
        """Make its session and tensors anew, with the inputs that are timed; its process goes on."""
        await self._process.take(inputs, renew=True)

    async def block(self, *, calls_per_block: int, warm_calls: int, time_s: float) -> messages.Block:
        """Time one block in the engine's process."""
        return await self._process.block(
            calls_per_block=calls_per_block, warm_calls=warm_calls, time_s=time_s
        )


def read_expected(path: Path) -> list[np.ndarray]:
    """Return the arrays out0, out1, ... of a bundle's file."""
    with np.load(path, allow_pickle=False) as arrays:
        return [arrays[f"out{index}"] for index in range(len(arrays.files))]


def difference(got: list[np.ndarray], expected: list[np.ndarray], tolerance: Tolerance) -> str:
    """Return in words how outputs differ from the expected ones, empty when they match."""
    if len(got) != len(expected):
        return f"it returned {len(got)} tensors, expected {len(expected)}"
    for index, (output, wanted) in enumerate(zip(got, expected, strict=True)):
        if output.dtype != wanted.dtype:
            return f"output {index} has dtype {output.dtype.name}, expected {wanted.dtype.name}"
        if output.shape != wanted.shape:
            return f"output {index} has shape {list(output.shape)}, expected {list(wanted.shape)}"
        found = compare(output, wanted, tolerance)
        if not found.ok:
            return f"output {index} {_mismatch(found)}"
    return ""


def _mismatch(found: Comparison) -> str:
    """Nine significant digits tell any two float32 apart; the worst error tells an approximation from a mistake."""
    parts = [f"differs in {found.mismatched} of {found.total} elements"]
    if found.first is not None:
        position, got, expected = found.first
        parts.append(f"first at {list(position)}: got {_shown(got)}, expected {_shown(expected)}")
    if found.worst is not None and found.worst.abs_error is not None:
        parts.append(f"at worst off by {found.worst.abs_error:.3g}, tolerated {found.worst.tolerated:.3g}")
    return ", ".join(parts)


def _shown(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
