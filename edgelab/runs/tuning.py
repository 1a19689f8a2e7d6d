"""A tuning as work on a device: survives lost links and clocks, writes its events, keeps what was measured."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec

from edgelab.bench.baseline.tune import TaskTuning, TunedTask, TuneRequest
from edgelab.bench.device_watch import DeviceWatch
from edgelab.bench.services import Services
from edgelab.events import EventBody
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.lab.invalid_measurements import invalidate
from edgelab.runs.device_work import DeviceWork
from edgelab.runs.sink import EventSink
from edgelab.runs.spec import new_run_id
from edgelab.store.tuned import TunedStore
from edgelab.store.writer import StoreWriter

OnEvent = Callable[[EventBody], None]


def profile_key(device: Device) -> str:
    """Name under which schedules for a device are kept; those of a simulated board are never a real one's."""
    return f"simulated:{device.profile}" if device.simulated else device.profile


async def tune(home: Home, device: Device, requests: list[TuneRequest], on_event: OnEvent) -> list[TunedTask]:
    """Tune tasks on one device, one after the other; every event goes to `on_event` and into the store.

    Raises EdgeLabError of the first task that fails. Cancellation leaves what was measured in the store.
    """
    with StoreWriter(home.database) as writer, TunedStore(home.database, home.blobs) as store:
        async with EventSink(writer, new_run_id()) as sink:

            def emit(body: EventBody) -> None:
                sink.emit(body)
                on_event(body)

            mark = functools.partial(invalidate, home, device.name)
            work = DeviceWork(device, home, "tune", emit, mark)
            return [await _task(work, request, store, emit) for request in requests]


async def _task(work: DeviceWork, request: TuneRequest, store: TunedStore, emit: OnEvent) -> TunedTask:
    attempts = 0

    async def attempt(services: Services, watch: DeviceWatch) -> TunedTask:
        nonlocal attempts
        attempts += 1
        # What an attempt measured before the device failed it still holds.
        again = msgspec.structs.replace(request, resume=request.resume or attempts > 1)
        return await TaskTuning(again, services, store, emit, watch).run()

    return await work.run(attempt)
