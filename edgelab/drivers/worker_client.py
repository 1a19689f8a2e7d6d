"""The controller's side of the worker protocol: typed operations, one at a time, each with a time limit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from edgelab.drivers.transport import Transport, WorkerConnection
from edgelab.drivers.worker_messages import (
    Block,
    DeviceReading,
    ExecutionDevice,
    Hello,
    KernelPlan,
    Limits,
    Loaded,
    MemoryReading,
    PairSeries,
    TimedKernels,
    Tolerance,
    Unloaded,
    Verification,
    restore_floats,
)
from edgelab.errors import EvaluationFailure, FailureClass

PROTOCOL_VERSION = 1
MAX_REPLY_BYTES = 64 << 20
"""A reply line may be this long; a million pairs need about 80 bytes each."""

_START_LIMIT_S = 90.0
_QUICK_LIMIT_S = 30.0
_COPY_LIMIT_S = 120.0
_MARGIN_S = 30.0

CPU = ExecutionDevice()

Progress = Callable[[int, int], None]
"""Called with how many pairs are done and how many were asked for."""

Reply = TypeVar("Reply", bound=msgspec.Struct)


class ProgramFailure(EvaluationFailure):
    """A failure the worker reported; `program` is the name it was loaded under, "" if none is to blame."""

    def __init__(
        self, failure_class: FailureClass, message: str, *, detail: str = "", program: str = ""
    ) -> None:
        super().__init__(failure_class, message, detail=detail)
        self.program = program


class WorkerClient:
    """A worker on a device. Operations wait for each other.

    Every operation raises ProgramFailure for what the worker reports, and EvaluationFailure of class
    `infrastructure` when the worker ended, did not answer in time or made no sense; the client is of no
    use after that, nor after an operation was cancelled half-way (`usable` is False).
    """

    def __init__(self, connection: WorkerConnection, device: str) -> None:
        self._connection = connection
        self._device = device
        self._lock = asyncio.Lock()
        self._last_id = 0
        self._greeting: Hello | None = None
        self.usable = True

    @classmethod
    async def start(cls, transport: Transport, archive: Path) -> Self:
        """Start a worker and check that it speaks this protocol."""
        client = cls(await transport.start_worker(archive), transport.device)
        try:
            hello = await client.hello()
            if hello.protocol != PROTOCOL_VERSION:
                raise client._broken(f"speaks protocol {hello.protocol}, expected {PROTOCOL_VERSION}")
        except BaseException:
            await client.close()
            raise
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the worker and everything it started."""
        self.usable = False
        await self._connection.close()

    async def hello(self) -> Hello:
        """What the worker is and runs on; it does not change, so it is asked once."""
        if self._greeting is None:
            self._greeting = await self._ask(Hello, "hello", _START_LIMIT_S)
        return self._greeting

    async def load(
        self, program: str, artefact: str, limits: Limits, device: ExecutionDevice = CPU
    ) -> Loaded:
        """Load an artefact (blob hash) into a child of its own, in place of one of the same name."""
        fields = {
            "program": program,
            "artefact": artefact,
            "limits": msgspec.to_builtins(limits),
            "device": msgspec.to_builtins(device),
        }
        return await self._ask(Loaded, "load", limits.time_s + _MARGIN_S, fields)

    async def verify(
        self,
        program: str,
        inputs: str,
        expected: str,
        tolerance: Tolerance,
        time_s: float,
        *,
        fresh: bool = True,
    ) -> Verification:
        """Run a program on inputs and compare its outputs with the expected ones (.npz blob hashes).

        With `fresh` it first runs in a child where nothing of an earlier call exists.
        """
        fields = {
            "program": program,
            "inputs": inputs,
            "expected": expected,
            "tolerance": msgspec.to_builtins(tolerance),
            "time_s": time_s,
            "fresh": fresh,
        }
        # Uploading, calling and fetching have this limit each.
        return await self._ask(Verification, "verify", 4 * time_s + _MARGIN_S, fields)

    async def prepare_timing(self, program: str, inputs: str) -> None:
        """Copy the inputs for timing (.npz blob hash) into a program's child."""
        fields = {"program": program, "inputs": inputs}
        await self._request("prepare_timing", _COPY_LIMIT_S, fields)

    async def rotate_timing(
        self, program: str, inputs: Sequence[str], expected: Sequence[str], tolerance: Tolerance
    ) -> None:
        """Let several inputs (.npz blob hashes) take turns when a program is timed.

        Timed calls are then checked against `expected`, one for each of `inputs`. Both programs of a pair
        need the same.
        """
        fields = {
            "program": program,
            "inputs": list(inputs),
            "expected": list(expected),
            "tolerance": msgspec.to_builtins(tolerance),
        }
        await self._request("prepare_timing", _COPY_LIMIT_S, fields)

    async def pair(
        self,
        a: str,
        b: str,
        *,
        pairs: int,
        calls_per_block: int,
        warm_calls: int,
        first: int,
        time_s: float,
        progress: Progress | None = None,
    ) -> PairSeries:
        """Time two programs in alternation; `first` is 0 if the first pair begins with `a`, else 1.

        Stops early, with fewer pairs, when `time_s` is over.
        """
        fields = {
            "a": a,
            "b": b,
            "pairs": pairs,
            "calls_per_block": calls_per_block,
            "warm_calls": warm_calls,
            "first": first,
            "time_s": time_s,
        }
        return await self._ask(PairSeries, "pair", time_s + _MARGIN_S, fields, progress)

    async def measure_kernels(
        self,
        artefacts: str,
        places: Sequence[tuple[int, int]],
        function: str,
        tensors: Sequence[tuple[Sequence[int], str]],
        plan: KernelPlan,
        progress: Progress | None = None,
    ) -> TimedKernels:
        """Time the kernels that lie at `places` (offset, bytes) of the blob `artefacts`, one after the other.

        All export `function`, whose arguments are `tensors` (shape, dtype). A kernel that fails is an entry
        of the answer, not an error.
        """
        fields = {
            "artefacts": artefacts,
            "places": [list(place) for place in places],
            "function": function,
            "tensors": [[list(shape), dtype] for shape, dtype in tensors],
            **msgspec.to_builtins(plan),
        }
        limit_s = plan.time_s * len(places) + _MARGIN_S
        return await self._ask(TimedKernels, "measure_kernels", limit_s, fields, progress)

    async def block(self, program: str, *, calls_per_block: int, warm_calls: int, time_s: float) -> Block:
        """Time one block of one program, to alternate it with something that the worker does not run."""
        fields = {
            "program": program,
            "calls_per_block": calls_per_block,
            "warm_calls": warm_calls,
            "time_s": time_s,
        }
        return await self._ask(Block, "block", time_s + _MARGIN_S, fields)

    async def memory(self, program: str) -> MemoryReading:
        """Peak memory of one call, if timing inputs are prepared, else of what was done so far."""
        return await self._ask(MemoryReading, "memory", _COPY_LIMIT_S, {"program": program})

    async def sample(self, nodes: Sequence[str] = ()) -> DeviceReading:
        """Read the device's state and the small files `nodes` (absolute paths on the device)."""
        return await self._ask(DeviceReading, "sample", _QUICK_LIMIT_S, {"nodes": list(nodes)})

    async def unload(self, program: str) -> Unloaded:
        """Let a program's child exit normally, which shows damage it did to its own heap."""
        return await self._ask(Unloaded, "unload", _QUICK_LIMIT_S, {"program": program})

    async def shutdown(self) -> None:
        """Ask the worker to end in good order."""
        await self._request("shutdown", _QUICK_LIMIT_S)
        self.usable = False

    async def _ask(
        self,
        reply: type[Reply],
        op: str,
        limit_s: float,
        fields: dict[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Reply:
        done = await self._request(op, limit_s, fields, progress)
        try:
            return msgspec.convert(restore_floats(done), reply)
        except msgspec.ValidationError as error:
            raise self._broken(f"answered {op} with something else: {error}") from error

    async def _request(
        self, op: str, limit_s: float, fields: dict[str, Any] | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        async with self._lock:
            if not self.usable:
                raise self._broken("is not running any more")
            self._last_id += 1
            line = json.dumps({"id": self._last_id, "op": op, **(fields or {})}, allow_nan=False).encode()
            try:
                async with asyncio.timeout(limit_s):
                    return await self._exchange(line + b"\n", progress)
            except TimeoutError as error:
                raise self._broken(f"did not answer {op} within {limit_s:g} s") from error
            except asyncio.CancelledError:
                # Its answer would be taken for that of the next operation.
                self.usable = False
                raise

    async def _exchange(self, line: bytes, progress: Progress | None) -> dict[str, Any]:
        try:
            self._connection.writer.write(line)
            await self._connection.writer.drain()
        except (ConnectionError, OSError) as error:
            raise await self._ended() from error
        while True:
            event = await self._event()
            if event.get("id") not in (self._last_id, 0):
                raise self._broken(f"answered request {event.get('id')!r}, expected {self._last_id}")
            kind = event.get("event")
            if kind == "done":
                return event
            if kind == "error":
                raise self._reported(event)
            if kind == "progress" and progress is not None:
                progress(int(event.get("done", 0)), int(event.get("total", 0)))

    async def _event(self) -> dict[str, Any]:
        try:
            line = await self._connection.reader.readline()
        except (ConnectionError, OSError) as error:
            raise await self._ended() from error
        except ValueError as error:
            raise self._broken(f"sent a line of more than {MAX_REPLY_BYTES} bytes") from error
        if not line.endswith(b"\n"):
            raise await self._ended()
        try:
            event = json.loads(line)
        except ValueError as error:
            raise self._broken(f"sent a line that is not JSON: {line[:200]!r}") from error
        if not isinstance(event, dict):
            raise self._broken(f"sent a line that is no event: {line[:200]!r}")
        return event

    def _reported(self, event: dict[str, Any]) -> EvaluationFailure:
        try:
            failure_class = FailureClass(event["class"])
            message, detail = str(event["message"]), str(event.get("detail", ""))
        except (KeyError, ValueError):
            return self._broken(f"sent an error of no known class: {str(event)[:200]}")
        program = str(event.get("program", ""))
        said = f"{message.rstrip('.')}, on {self._device}"
        return ProgramFailure(failure_class, said, detail=detail, program=program)

    async def _ended(self) -> EvaluationFailure:
        how, stderr_tail = await self._connection.describe_end()
        return self._broken(f"ended ({how})", detail=stderr_tail)

    def _broken(self, what: str, *, detail: str = "") -> EvaluationFailure:
        self.usable = False
        return EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"The worker on {self._device} {what}.",
            detail=detail,
            advice="The step can be repeated with a new worker; nothing is counted against the candidate.",
        )
