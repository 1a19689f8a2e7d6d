"""Watches the clocks of a locked board while a run works on it, by what the worker reads between its blocks."""

from __future__ import annotations

import time

from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.family import Family
from edgelab.drivers.probe import ProbeReply
from edgelab.drivers.worker_messages import DeviceReading
from edgelab.errors import ClocksLost
from edgelab.events import DeviceSampled


class ClockWatch:
    """Judges readings of one board that was found as it has to be in `state`.

    `root` is the folder under which the board's nodes lie. With `locked` False nothing is judged, only told.
    """

    def __init__(self, device: str, family: Family, state: DeviceState, *, root: str, locked: bool) -> None:
        self._device = device
        self._family = family
        self._root = root.rstrip("/")
        self._locked = locked
        self._state = state
        self.nodes = tuple(self._root + path for path in family.sampled_nodes(state))

    def sampled(self, reading: DeviceReading) -> DeviceSampled:
        """Return a reading as an event."""
        state = self._family.read(_reply(self._files(reading)))
        gpu, memory = state.clock("gpu"), state.clock("memory")
        hottest = state.hottest()
        return DeviceSampled(
            cpu_freq_hz=reading.cpu_freq_hz,
            gpu_freq_hz=gpu.current_hz if gpu else None,
            memory_freq_hz=memory.current_hz if memory else None,
            throttle_counts=state.throttle_counts,
            temperature_c=hottest.celsius if hottest else reading.temperature_c,
            load_1min=reading.load_1min,
            memory_available_bytes=reading.memory_available_bytes,
        )

    def confirm(self, reading: DeviceReading) -> None:
        """Raise `ClocksLost` when the reading shows the clocks otherwise than they were locked."""
        if not self._locked:
            return
        problem = self._family.lock_lost(self._state, self._files(reading))
        if problem is not None:
            raise ClocksLost(f"{self._device}: {problem}")

    def _files(self, reading: DeviceReading) -> dict[str, bytes]:
        return {
            path.removeprefix(self._root): text.encode()
            for path, text in reading.nodes.items()
            if text is not None
        }


def _reply(files: dict[str, bytes]) -> ProbeReply:
    now_s = time.time()
    return ProbeReply(files=files, refused={}, outputs={}, started_s=now_s, ended_s=now_s)
