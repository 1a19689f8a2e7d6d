"""What every way to a device offers: commands, files, blobs by content and a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.probe import ProbeReply, ProbeRequest
from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError

LinkProblem = Literal[
    "unknown_host_key", "changed_host_key", "refused", "name", "timeout", "login", "lost", "sudo", "other"
]
"""What is wrong with the way to a device: its key was never seen or is another one, the port is closed, the
name has no address, no answer in time, the login was not accepted, the link broke, sudo is not to be had."""


class LinkFailure(EvaluationFailure):
    """The way to a device failed; `problem` says how. Never counted against a candidate."""

    def __init__(self, problem: LinkProblem, message: str, *, detail: str = "", advice: str = "") -> None:
        super().__init__(FailureClass.INFRASTRUCTURE, message, detail=detail, advice=advice)
        self.problem: LinkProblem = problem


OnBytes = Callable[[int, int], None]
"""Told how many bytes are on the device, and how many there will be."""


class LeaseHeld(NotReadyError):
    """Someone else holds the device; `holder` is None when the one who took it has not signed yet."""

    def __init__(self, message: str, holder: LeaseHolder | None, *, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.holder = holder


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
    """One device. Failures of the way itself are `LinkFailure` (class `infrastructure`).

    Absolute paths, also a command's, lie under the device's `root` where one is set (a board of fake
    nodes); relative ones lie under the login folder. EdgeLab keeps its own files in `.edgelab` there.
    """

    @property
    def device(self) -> str:
        """Name of the device, for messages."""
        ...

    async def probe(self, request: ProbeRequest) -> ProbeReply:
        """Fetch files and the output of commands in one round trip (two where sudo wants a password)."""
        ...

    async def run(
        self, argv: Sequence[str], time_limit_s: float, *, root: bool = False, stdin: bytes = b""
    ) -> CommandResult:
        """Run a command in a process group of its own, which ends with the time limit or a cancellation.

        `root` runs it through sudo; raises `LinkFailure` (sudo) where that is denied.
        """
        ...

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """Read small files in one round trip; None for each that cannot be read."""
        ...

    async def write(self, path: str, data: bytes, *, root: bool = False) -> None:
        """Write a file that exists (a knob in sysfs) or replace a plain one.

        Raises `EvaluationFailure` (infrastructure) with the board's own words when it is refused.
        """
        ...

    async def put(self, content: bytes | Path, *, progress: OnBytes | None = None) -> str:
        """Store content as a blob on the device; returns its SHA-256. Cheap if it is there already.

        What a broken link left of a long file is not sent again.
        """
        ...

    def lease(self, holder: LeaseHolder) -> AbstractAsyncContextManager[None]:
        """Hold the device while the block runs. Raises `LeaseHeld` at once when someone else does."""
        ...

    async def start_worker(self, archive: Path) -> WorkerConnection:
        """Start the worker from its archive."""
        ...

    async def close(self) -> None:
        """End the link and everything that was started over it. Harmless when repeated."""
        ...
