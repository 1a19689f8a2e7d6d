"""Async client of the tuner: one extraction or search at a time, and an end that leaves no process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType

import msgspec

from edgelab.child_group import end_group, keep_tail
from edgelab.errors import EdgeLabError, EvaluationFailure, ExitCode, FailureClass, NotReadyError
from edgelab.kernel.server_process import start_server
from edgelab.kernel.tuning.protocol import (
    Extracted,
    ExtractRequest,
    SearchReply,
    SearchRequest,
    TunerEvent,
    TunerRequest,
)

_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 3.0
_SILENCE_LIMIT_S = 900.0
"""How long a search may take for one batch."""
_LINE_LIMIT_BYTES = 64 << 20

Answer = Callable[[TunerEvent], Awaitable[SearchReply]]
"""Takes an event of a search and returns what EdgeLab says to it."""


class SearchFailed(EdgeLabError):
    """A search could not go on: no space of schedules for the kernel, or its process died (`died`)."""

    exit_code = ExitCode.WORK_FAILED

    def __init__(self, message: str, *, detail: str = "", died: bool = False) -> None:
        super().__init__(message)
        self.detail = detail
        self.died = died


class Tuner:
    """One tuner process. Use as `async with Tuner() as tuner`.

    A call that was cancelled or ran out of time ends the process; the next call starts another one.
    """

    def __init__(
        self, *, start_limit_s: float = _START_LIMIT_S, silence_limit_s: float = _SILENCE_LIMIT_S
    ) -> None:
        self._start_limit_s = start_limit_s
        self._silence_limit_s = silence_limit_s
        self._process: asyncio.subprocess.Process | None = None
        self._stderr = bytearray()
        self._reading: asyncio.Task[None] | None = None
        self.tvm_version = ""

    async def __aenter__(self) -> Tuner:
        await self._ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the tuner, None while there is none."""
        return self._process.pid if self._process is not None else None

    async def extract(self, request: ExtractRequest) -> Extracted:
        """The kernels of a program. Raises SearchFailed when it cannot be lowered."""
        event = await self._first(TunerRequest(extract=request))
        if event.extracted is None:
            raise _failed(event)
        return event.extracted

    async def search(self, request: SearchRequest, answer: Answer) -> None:
        """Run one search; `answer` is asked for every event that wants a reply.

        Raises SearchFailed, and EvaluationFailure (infrastructure) when the tuner itself is gone.
        """
        event = await self._first(TunerRequest(search=request))
        try:
            while event.event != "ended":
                if event.event == "failed":
                    raise _failed(event)
                reply = await answer(event)
                await self._send(reply)
                event = await self._receive(self._silence_limit_s)
        except SearchFailed:
            raise
        except BaseException:
            # The search would wait for its reply, and the next request would be taken for it.
            await self.close()
            raise

    async def close(self) -> None:
        """End the tuner with everything it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_LIMIT_S):
                await end_group(process)
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=_STOP_LIMIT_S)
            self._reading.cancel()

    async def _first(self, request: TunerRequest) -> TunerEvent:
        await self._ready()
        try:
            await self._send(request)
            return await self._receive(self._silence_limit_s)
        except BaseException:
            await self.close()
            raise

    async def _ready(self) -> None:
        if self._process is not None and self._process.returncode is None:
            return
        await self.close()
        self._stderr.clear()
        self._process = await start_server("edgelab.kernel.tuning.tuner", _LINE_LIMIT_BYTES)
        self._reading = asyncio.create_task(keep_tail(self._process.stderr, self._stderr))
        try:
            self.tvm_version = (await self._receive(self._start_limit_s)).tvm_version
        except EvaluationFailure as error:
            await self.close()
            raise NotReadyError(
                "The tuner did not start.", advice=f"It said: {error.detail.strip()[-300:]}"
            ) from error
        except BaseException:
            await self.close()
            raise

    async def _send(self, message: TunerRequest | SearchReply) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # A tuner that is gone shows when its answer is read.
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(msgspec.json.encode(message) + b"\n")
            await self._process.stdin.drain()

    async def _receive(self, limit_s: float) -> TunerEvent:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(limit_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise self._lost(f"did not answer within {limit_s:g} s") from error
        if not line.endswith(b"\n"):
            raise self._lost("ended")
        return msgspec.json.decode(line, type=TunerEvent)

    def _lost(self, how: str) -> EvaluationFailure:
        return EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"The tuner {how}.",
            detail=self._stderr.decode(errors="replace"),
            advice="What was measured is kept; go on with --resume.",
        )


def _failed(event: TunerEvent) -> SearchFailed:
    return SearchFailed(event.message, detail=event.detail, died=event.died)
