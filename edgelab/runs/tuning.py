"""A tuning as a run: work on a device that survives lost links and clocks, its events, and what it measured."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import Callable

import msgspec

from edgelab.bench.baseline.tune import TaskTuning, TunedTask, TuneRequest
from edgelab.bench.device_watch import DeviceWatch
from edgelab.bench.services import Services
from edgelab.errors import EdgeLabError
from edgelab.events import EventBody, LogLine, RunInterrupted
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.lab.invalid_measurements import invalidate
from edgelab.runs.device_work import DeviceWork
from edgelab.runs.folder import RunFolder
from edgelab.runs.sink import EventSink
from edgelab.runs.spec import RunSpec, new_run_id
from edgelab.store.records import RunRecord
from edgelab.store.tuned import TunedStore
from edgelab.store.writer import StoreWriter

OnEvent = Callable[[EventBody], None]


def profile_key(device: Device) -> str:
    """Name under which schedules for a device are kept; those of a simulated board are never a real one's."""
    return f"simulated:{device.profile}" if device.simulated else device.profile


async def tune(
    home: Home, device: Device, requests: list[TuneRequest], backend: str, on_event: OnEvent
) -> list[TunedTask]:
    """Tune tasks on one device, one after the other, each as a run of its own that other terminals can watch.

    Every event goes to `on_event` and into the store. Raises EdgeLabError of the first task that fails.
    Cancellation leaves what was measured in the store.
    """
    with StoreWriter(home.database) as writer, TunedStore(home.database, home.blobs) as store:
        tuned = []
        for request in requests:
            run = _TuningRun(home, device, request, backend, writer, on_event)
            tuned.append(await run.work(store))
        return tuned


class _TuningRun:
    """The tuning of one task. While it works it holds the lock by which others see that it is alive."""

    def __init__(
        self,
        home: Home,
        device: Device,
        request: TuneRequest,
        backend: str,
        writer: StoreWriter,
        on_event: OnEvent,
    ) -> None:
        self._home = home
        self._device = device
        self._request = request
        self._backend = backend
        self._writer = writer
        self._on_event = on_event
        self._folder = RunFolder(home, new_run_id())

    async def work(self, store: TunedStore) -> TunedTask:
        """Tune, and record how that ended."""
        lock = self._begin()
        try:
            tuned = await self._tune(store)
            # While the lock is held: a run without an end that nobody holds looks lost.
            self._writer.update_run(self._folder.run_id, "done", finished_s=time.time())
        except asyncio.CancelledError:
            self._end(RunInterrupted(reason="stopped on request"))
            raise
        except EdgeLabError as error:
            self._end(LogLine(level="error", text=str(error)))
            raise
        finally:
            self._folder.release_reserve()
            os.close(lock)
        return tuned

    def _begin(self) -> int:
        run_id, device, task = self._folder.run_id, self._device, self._request.task
        self._folder.create(
            RunSpec(
                task=task.name,
                device=device.name,
                entry=device,
                backend=self._backend,
                simulated=device.simulated,
            )
        )
        lock = self._folder.acquire()
        self._folder.note_holder(lock, os.getpid())
        now_s = time.time()
        self._writer.create_run(
            RunRecord(
                id=run_id,
                kind="tune",
                task=task.name,
                device=device.name,
                backend=self._backend,
                simulated=device.simulated,
                created_s=now_s,
            )
        )
        self._writer.update_run(run_id, "running", pid=os.getpid(), started_s=now_s)
        return lock

    def _end(self, body: RunInterrupted | LogLine) -> None:
        """Record an end before the kernels were done; an interruption can be gone on from."""
        # A full disk may be the reason.
        self._folder.release_reserve()
        self._writer.append(self._folder.run_id, [body])
        state = "interrupted" if isinstance(body, RunInterrupted) else "done"
        self._writer.update_run(self._folder.run_id, state, finished_s=time.time())

    async def _tune(self, store: TunedStore) -> TunedTask:
        async with EventSink(self._writer, self._folder.run_id) as sink:

            def emit(body: EventBody) -> None:
                sink.emit(body)
                self._on_event(body)

            attempts = 0

            async def attempt(services: Services, watch: DeviceWatch) -> TunedTask:
                nonlocal attempts
                attempts += 1
                # What an attempt measured before the device failed it still holds.
                again = msgspec.structs.replace(self._request, resume=self._request.resume or attempts > 1)
                return await TaskTuning(again, services, store, emit, watch).run()

            mark = functools.partial(invalidate, self._home, self._device.name)
            work = DeviceWork(self._device, self._home, self._folder.run_id, emit, mark)
            return await work.run(attempt)
