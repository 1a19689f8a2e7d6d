"""What timing asks of whoever watches the device meanwhile: which files to read, and whether all is as it was."""

from __future__ import annotations

from typing import Protocol

from edgelab.drivers.worker_messages import DeviceReading
from edgelab.events import DeviceSampled


class DeviceWatch(Protocol):
    """Judges the readings that the worker takes between the sessions of timing."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Files on the device that each reading shall hold, by absolute path."""
        ...

    def sampled(self, reading: DeviceReading) -> DeviceSampled:
        """Return the reading as an event."""
        ...

    def confirm(self, reading: DeviceReading) -> None:
        """Raise `ClocksLost` when the reading shows that the device is not as it was locked."""
        ...


class Unwatched:
    """A device without anything to confirm: its readings are only told."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """No files beside what every reading has."""
        return ()

    def sampled(self, reading: DeviceReading) -> DeviceSampled:
        """Return the reading as an event."""
        return DeviceSampled(
            cpu_freq_hz=reading.cpu_freq_hz,
            temperature_c=reading.temperature_c,
            load_1min=reading.load_1min,
            memory_available_bytes=reading.memory_available_bytes,
        )

    def confirm(self, reading: DeviceReading) -> None:
        """Accept every reading."""


UNWATCHED = Unwatched()
