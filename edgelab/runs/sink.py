"""The event sink: gathers a run's events and appends them to the store off the event loop."""

from __future__ import annotations

import asyncio

from edgelab.events import EventBody
from edgelab.store.writer import StoreWriter

_FLUSH_INTERVAL_S = 0.05
_BATCH = 500


class EventSink:
    """Takes events at any rate and writes them in order, a batch a transaction.

    Use as an async context: leaving it writes what is left. The first failure to write (disk full) is
    raised by the next `check` and when the context is left; nothing is dropped silently.
    """

    def __init__(self, writer: StoreWriter, run_id: str) -> None:
        self._writer = writer
        self._run_id = run_id
        self._pending: list[EventBody] = []
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._closing = False

    async def __aenter__(self) -> EventSink:
        self._task = asyncio.create_task(self._drain())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    def emit(self, body: EventBody) -> None:
        """Queue one event. Raises what an earlier write raised."""
        self.check()
        self._pending.append(body)
        self._wake.set()

    def check(self) -> None:
        """Raise the error of a failed write, if there was one."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            error = self._task.exception()
            if error is not None:
                raise error

    async def _drain(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                batch, self._pending = self._pending[:_BATCH], self._pending[_BATCH:]
                await asyncio.to_thread(self._writer.append, self._run_id, batch)
            if self._closing:
                return
            # Gather for a moment: an event storm then costs one transaction a batch, not one an event.
            await asyncio.sleep(_FLUSH_INTERVAL_S)
