"""The controller's side of an engine's child process: requests with deadlines, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from edgelab.bench.engines.engine import Engine, EngineFailure
from edgelab.bench.engines.messages import Called, Failed, Inputs, Preparation, Prepared
from edgelab.child_group import end_child, how_it_ended, keep_tail, last_words
from edgelab.drivers.worker_messages import Block
from edgelab.worker.channel import (
    Channel,
    ChannelClosed,
    ChannelCorrupt,
    DeadlineExceeded,
    Frame,
    Kind,
    as_bytes,
)
from edgelab.worker.failures import ControllerGone

_START_LIMIT_S = 120.0
_COPY_LIMIT_S = 120.0
_END_LIMIT_S = 5.0
_LARGEST_OUTPUT_BYTES = 1 << 34

_T = TypeVar("_T")


class EngineProcess:
    """One engine in a child of its own, which leads a process group. Use as an async context.

    Every operation raises EngineFailure when the engine refuses, breaks, dies or exceeds its time; after the
    last two the child is gone. Leaving the context kills the group and reaps the child, also when cancelled.
    """

    def __init__(self, engine: Engine, *, threads: int, cache: Path) -> None:
        self.name = engine.name
        self._engine = engine
        self._threads = threads
        self._cache = cache
        self._tail = bytearray()
        # One thread: requests wait for each other, and the clock is read next to the socket.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"engine-{engine.name}")
        self._hangup: tuple[int, int] | None = None
        self._channel: Channel | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stderr: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Process id of the child, which leads its group."""
        assert self._process is not None
        return self._process.pid

    async def __aenter__(self) -> EngineProcess:
        try:
            await self._start()
            await self._request(Kind.READY, _START_LIMIT_S, "start")
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def prepare(self, request: Preparation, limit_s: float) -> Prepared:
        """Let the engine convert or compile a task; it may run for the first time afterwards."""
        frame = await self._request(Kind.LOAD, limit_s, "prepare the task", msgspec.to_builtins(request))
        return msgspec.convert(frame.body, Prepared)

    async def take(self, inputs: Path, *, renew: bool = False) -> None:
        """Copy inputs (.npz) into the engine's tensors; with `renew` into new memory, sessions and all."""
        body = msgspec.to_builtins(Inputs(str(inputs), renew))
        await self._request(Kind.UPLOAD, _COPY_LIMIT_S, "take its inputs", body)

    async def call(self, limit_s: float) -> list[np.ndarray]:
        """Call once on the inputs that it has and return its outputs."""
        frame = await self._request(Kind.CALL, limit_s, "answer a call")
        arrays = []
        for index, spec in enumerate(msgspec.convert(frame.body, Called).outputs):
            array = np.empty(spec.shape, dtype=spec.dtype)
            await self._in_thread(self._fetching(index, array), "hand over an output", _COPY_LIMIT_S)
            arrays.append(array)
        await self._request(Kind.DROP, _COPY_LIMIT_S, "free its outputs")
        return arrays

    async def block(self, *, calls_per_block: int, warm_calls: int, time_s: float) -> Block:
        """Time one block as the worker times those of programs: untimed calls, then the timed ones."""
        if warm_calls:
            await self._request(Kind.BLOCK, time_s, "finish a block", first=warm_calls)
        return await self._in_thread(self._timing(calls_per_block, time_s), "finish a block", time_s)

    async def close(self) -> None:
        """Kill the group and reap the child."""
        if self._process is not None and self._stderr is not None:
            ending = asyncio.ensure_future(self._end(self._process, self._stderr))
            self._process = None
            await asyncio.shield(ending)
        self._thread.shutdown(wait=False)

    async def _end(self, process: asyncio.subprocess.Process, stderr: asyncio.Task[None]) -> None:
        await end_child(process, stderr)
        assert self._hangup is not None
        assert self._channel is not None
        # A request under way sees the closed pipe; the descriptors are free when its thread is.
        os.close(self._hangup[1])
        await asyncio.to_thread(self._thread.shutdown)
        os.close(self._hangup[0])
        self._channel.close()

    async def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._hangup = os.pipe()
        self._channel = Channel(ours, self._hangup[0])
        argv = ("-P", "-m", "edgelab.bench.engines.engine_child", self._engine.runner, str(theirs.fileno()))
        with theirs:
            starting = asyncio.ensure_future(
                asyncio.create_subprocess_exec(
                    sys.executable,
                    *argv,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                    env=self._environment(),
                )
            )
            try:
                self._process = await asyncio.shield(starting)
            except asyncio.CancelledError:
                self._process = await starting
                raise
            finally:
                if self._process is not None:
                    self._stderr = asyncio.create_task(keep_tail(self._process.stderr, self._tail))

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, **self._engine.environment(self._threads, self._cache)}

    async def _request(
        self, kind: Kind, limit_s: float, what: str, body: dict | None = None, *, first: int = 0
    ) -> Frame:
        def exchange(channel: Channel) -> Frame:
            deadline_s = time.monotonic() + limit_s
            # The child speaks first: it says that the engine is imported.
            if kind is not Kind.READY:
                channel.send(kind, body, first=first, deadline_s=deadline_s)
            return _answer(channel, deadline_s)

        return await self._in_thread(exchange, what, limit_s)

    @staticmethod
    def _fetching(index: int, array: np.ndarray) -> Callable[[Channel], None]:
        def fetch(channel: Channel) -> None:
            deadline_s = time.monotonic() + _COPY_LIMIT_S
            channel.send(Kind.FETCH, first=index, deadline_s=deadline_s)
            frame = _answer(channel, deadline_s, payload_bytes=_LARGEST_OUTPUT_BYTES)
            if frame.payload_bytes != array.nbytes:
                raise ChannelCorrupt(f"output {index} has {frame.payload_bytes} bytes, not {array.nbytes}")
            channel.receive_payload(as_bytes(array), deadline_s)

        return fetch

    def _timing(self, calls: int, limit_s: float) -> Callable[[Channel], Block]:
        def time_block(channel: Channel) -> Block:
            deadline_s = time.monotonic() + limit_s
            sent_ns = time.perf_counter_ns()
            channel.send(Kind.BLOCK, first=calls, deadline_s=deadline_s)
            frame = _answer(channel, deadline_s)
            received_ns = time.perf_counter_ns()
            start_ns, end_ns = frame.first, frame.second
            if not sent_ns <= start_ns <= end_ns <= received_ns:
                raise ChannelCorrupt(
                    f"its clock readings lie outside of the time its block took: sent {sent_ns}, start {start_ns}, "
                    f"end {end_ns}, received {received_ns} (ns)"
                )
            return Block((end_ns - start_ns) / 1e9 / calls, (received_ns - sent_ns) / 1e9)

        return time_block

    async def _in_thread(self, job: Callable[[Channel], _T], what: str, limit_s: float) -> _T:
        """Run `job` on the channel in the engine's thread; a dead or silent child becomes a failure."""
        channel, process = self._channel, self._process
        if channel is None or process is None:
            raise EngineFailure("failed", f"{self.name} is not running any more.")
        try:
            return await asyncio.wrap_future(self._thread.submit(job, channel))
        except asyncio.CancelledError:
            # Its answer would be taken for that of the next request.
            await self.close()
            raise
        except DeadlineExceeded:
            await self.close()
            message = f"{self.name} did not {what} within {limit_s:g} s and was killed."
            raise EngineFailure("failed", message, detail=self._said()) from None
        except (ChannelClosed, ControllerGone):
            # It closed its end by dying: what is left is to learn how.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_LIMIT_S):
                    await process.wait()
            status = process.returncode
            await self.close()
            how = f"{how_it_ended(status)}{last_words(self._tail)}"
            message = f"{self.name} could not {what}: its process {how}."
            raise EngineFailure("failed", message, detail=self._said()) from None
        except ChannelCorrupt as error:
            await self.close()
            message = f"{self.name} broke its protocol and was killed: {error}."
            raise EngineFailure("failed", message, detail=self._said()) from error
        except EngineFailure as failure:
            message = f"{self.name}: {failure.message.rstrip('.')}."
            raise EngineFailure(failure.problem, message, detail=failure.detail or self._said()) from failure

    def _said(self) -> str:
        return self._tail.decode(errors="replace").strip()


def _answer(channel: Channel, deadline_s: float, *, payload_bytes: int = 0) -> Frame:
    frame = channel.receive(deadline_s, payload_bytes=payload_bytes)
    if frame.kind == Kind.FAILED:
        try:
            failed = msgspec.convert(frame.body, Failed)
        except msgspec.ValidationError as error:
            raise ChannelCorrupt(f"a failure without a message: {error}") from error
        raise EngineFailure(failed.problem, failed.message, detail=failed.detail)
    if frame.kind not in (Kind.DONE, Kind.READY):
        raise ChannelCorrupt(f"unexpected frame kind {frame.kind}")
    return frame
