"""What every way to a device offers: commands, files, blobs by content and a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec


class CommandResult(msgspec.Struct, frozen=True):
    """A command that ended by itself. `exit_code` is negative for a signal, as in `subprocess`."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class ByteWriter(Protocol):
    """The part of asyncio's (and asyncssh's) stream writer that the worker's client uses."""

    def write(self, data: bytes, /) -> None:
        """Queue bytes."""

    async def drain(self) -> None:
        """Wait until the queue is short; raises ConnectionError if the other end is gone."""


class WorkerConnection(Protocol):
    """A running worker: its two streams, and its end."""

    @property
    def reader(self) -> asyncio.StreamReader:
        """Replies, one JSON object a line."""
        ...

    @property
    def writer(self) -> ByteWriter:
        """Requests, one JSON object a line."""
        ...

    async def describe_end(self) -> tuple[str, str]:
        """How the worker ended (`exit 0`, `signal SIGKILL`, `still running`) and the tail of its stderr."""
        ...

    async def close(self) -> None:
        """End the worker with everything it started, and reap it. Harmless when repeated."""


class Transport(Protocol):
    """One device. Failures of the way itself are EvaluationFailure of class `infrastructure`."""

    @property
    def device(self) -> str:
        """Name of the device, for messages."""
        ...

    async def run(self, argv: Sequence[str], time_limit_s: float) -> CommandResult:
        """Run a command in a process group of its own, which ends with the time limit or a cancellation."""
        ...

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """Read small files in one round trip; None for each that cannot be read."""
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Write a file that exists (a knob in sysfs) or replace a plain one."""
        ...

    async def put(self, content: bytes | Path) -> str:
        """Store content as a blob on the device; returns its SHA-256. Cheap if it is there already."""
        ...

    async def start_worker(self, archive: Path) -> WorkerConnection:
        """Start the worker from its archive."""
        ...
