"""Warm services of a run: the build server and the device's worker, started early, restarted when they die."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType

from edgelab.bench.phases import Emit
from edgelab.drivers.transport import Transport
from edgelab.drivers.worker_archive import build_archive
from edgelab.drivers.worker_client import WorkerClient
from edgelab.events import LogLine
from edgelab.kernel.build_service import BuildService


class Services:
    """Owns one build server and one worker for any number of evaluations.

    Both begin to start when the context is entered, so that their import time overlaps with the reference
    step; `builder` and `worker` wait for them. Leaving the context ends both with all their children.
    """

    def __init__(self, transport: Transport, cache: Path, emit: Emit) -> None:
        self.transport = transport
        self._cache = cache
        self._emit = emit
        self.baseline_check_s: dict[tuple[str, str], float] = {}
        """Seconds that checking one seed took, by artefact and reference of baselines found right."""
        self.missed_by_baseline: dict[tuple[str, str], set[str]] = {}
        """Hidden cases that a baseline, by artefact and reference, gets wrong itself: nobody is asked them."""
        self._builder = BuildService.start()
        self._warming: asyncio.Task[object] | None = None
        self._worker: asyncio.Task[WorkerClient] | None = None

    async def __aenter__(self) -> Services:
        self._warming = asyncio.create_task(self._builder.__aenter__())
        self._worker = asyncio.create_task(self._start_worker())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(self._end_builder(), self._end_worker())

    async def _start_worker(self) -> WorkerClient:
        archive = await asyncio.to_thread(build_archive, self._cache)
        return await WorkerClient.start(self.transport, archive)

    async def builder(self) -> BuildService:
        """Return the build service. Raises `NotReadyError` if its server cannot start."""
        assert self._warming is not None
        # Shielded: a cancelled step must not cancel the start that leaving the context has to clean up.
        await asyncio.shield(self._warming)
        return self._builder

    async def worker(self) -> WorkerClient:
        """Return the running worker, started anew when the last one has died.

        Raises `EvaluationFailure` (infrastructure) if it cannot start.
        """
        assert self._worker is not None
        worker = await asyncio.shield(self._worker)
        if not worker.usable:
            self._emit(LogLine(level="warning", text="The worker had died; it is started again."))
            await self._end_worker()
            self._worker = asyncio.create_task(self._start_worker())
            worker = await asyncio.shield(self._worker)
        return worker

    async def _end_builder(self) -> None:
        if self._warming is not None:
            await asyncio.wait([self._warming])
            self._warming.exception()
        await self._builder.close()

    async def _end_worker(self) -> None:
        """End the worker; a start under way is waited for, so that nothing is left behind."""
        if self._worker is None:
            return
        starting, self._worker = self._worker, None
        await asyncio.wait([starting])
        if starting.exception() is None:
            await starting.result().close()
