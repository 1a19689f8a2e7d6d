"""The worker's side of one program child: requests with deadlines, death and misbehaviour as failures."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .channel import Channel, ChannelClosed, ChannelCorrupt, DeadlineExceeded, Frame, Kind, as_bytes
from .execution_device import CPU, ExecutionDevice
from .failures import HACK, INFRASTRUCTURE, MEMORY, TIMEOUT, WorkerFailure, classify_exit, describe_exit
from .sandbox import CAPTURE_LIMIT_BYTES

_TAIL_CHARS = 8_000
_FORK_LIMIT_S = 10.0
_OPEN_LIMIT_S = 60.0
_KNOWN_CLASSES = {"syntax_api", "memory", "parallel", "numeric", "crash"}


@dataclass(frozen=True)
class KernelCache:
    """A folder that the driver of one program's device compiles into, and the user it belongs to."""

    folder: str
    uid: int


@dataclass(frozen=True)
class Place:
    """Where a program runs, with what its device needs: the descriptor of its runtime, and its kernel cache."""

    device: ExecutionDevice = CPU
    library_fd: int | None = None
    cache: KernelCache | None = None


ON_CPU = Place()


@dataclass(frozen=True)
class Limits:
    """What a program may use: address space beyond the runtime's own, loading time, threads, cores."""

    memory_bytes: int | None
    time_s: float
    threads: int
    cpus: list[int] | None = None


class ForkServerGone(Exception):
    """The fork server died or hangs: the worker cannot go on."""


class ForkServer:
    """The worker's end of the fork server's control socket."""

    def __init__(self, control: socket.socket, hello: dict[str, Any]) -> None:
        self._control = control
        self.pid = int(hello["pid"])
        self.versions = {name: str(hello[name]) for name in ("python", "numpy", "tvm")}

    def fork(self, limits: Limits, place: Place, fds: list[int]) -> int:
        """Fork a program child with (channel, capture, artefact, library or none); returns its process id."""
        request = {
            "op": "fork",
            # Where a GPU's memory is mapped, the address space says nothing of what is used.
            "memory_bytes": None if place.device.own_memory else limits.memory_bytes,
            "threads": limits.threads,
            "cpus": limits.cpus,
            "device": place.device.kind,
            "index": place.device.index,
            "kernel_cache": place.cache.folder if place.cache else None,
            "uid": place.cache.uid if place.cache else None,
        }
        return int(self._exchange(request, fds, _FORK_LIMIT_S)["pid"])

    def reap(self, pid: int, grace_s: float) -> tuple[int, bool]:
        """Wait for a child, killing its group after `grace_s` seconds: (wait status, killed by us)."""
        reply = self._exchange({"op": "reap", "pid": pid, "grace_s": grace_s}, [], grace_s + _FORK_LIMIT_S)
        return int(reply["status"]), bool(reply["killed"])

    def _exchange(self, request: dict[str, Any], fds: list[int], limit_s: float) -> dict[str, Any]:
        self._control.settimeout(limit_s)
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], fds)
            reply = self._control.recv(1 << 16)
        except OSError as error:
            raise ForkServerGone(f"the fork server does not answer: {error}") from error
        if not reply:
            raise ForkServerGone("the fork server has ended")
        return json.loads(reply)


class Program:
    """A program child. Every method takes seconds to wait and raises WorkerFailure; after a death, a
    time-out or a broken frame the child is gone (`alive` is False) and its exit is kept."""

    def __init__(
        self,
        name: str,
        server: ForkServer,
        limits: Limits,
        artefact_fd: int,
        hangup_fd: int,
        place: Place = ON_CPU,
    ) -> None:
        """Fork the child, in its sandbox and with its device open; raises WorkerFailure if that fails."""
        self.name = name
        self.alive = True
        self.exit = ""
        self.clean = False
        self._server = server
        self._limits = limits
        self._hangup_fd = hangup_fd
        self._artefact_fd = os.dup(artefact_fd)
        self._place = (
            place if place.library_fd is None else replace(place, library_fd=os.dup(place.library_fd))
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._capture_fd = _bounded_file()
        with theirs:
            library = [] if place.library_fd is None else [place.library_fd]
            self.pid = server.fork(limits, place, [theirs.fileno(), self._capture_fd, artefact_fd, *library])
        self._channel = Channel(ours, hangup_fd)
        try:
            self.sandbox = self.receive(_FORK_LIMIT_S).body
            if place.device.has_driver:
                self._open_device()
        except BaseException:
            self.close()
            raise
        self.baseline_rss_bytes = memory_reading(self.pid, "VmRSS")

    def _open_device(self) -> None:
        """What fails here is the machine's fault: nothing of the program has run yet."""
        try:
            self.request(Kind.OPEN, _OPEN_LIMIT_S)
        except WorkerFailure as failure:
            raise WorkerFailure(INFRASTRUCTURE, failure.message, detail=failure.detail) from failure

    def fresh(self) -> Program:
        """The same program in another new child, loaded; the caller closes it. Raises WorkerFailure."""
        other = Program(
            self.name, self._server, self._limits, self._artefact_fd, self._hangup_fd, self._place
        )
        try:
            other.request(Kind.LOAD, self._limits.time_s)
        except BaseException:
            other.close()
            raise
        return other

    def request(
        self, kind: Kind, limit_s: float, body: dict[str, Any] | None = None, *, first: int = 0
    ) -> Frame:
        """Send a request without payload and return the answer, which has none either."""
        deadline_s = time.monotonic() + limit_s
        with self._guarded(limit_s):
            self._channel.send(kind, body, first=first, deadline_s=deadline_s)
            return self._answer(deadline_s)

    def receive(self, limit_s: float) -> Frame:
        """Wait for a frame that was not asked for."""
        with self._guarded(limit_s):
            return self._answer(time.monotonic() + limit_s)

    def upload(self, slot: str, arrays: list[np.ndarray], limit_s: float, *, in_place: bool = False) -> None:
        """Copy inputs into the child, with `in_place` over those that are there, at their addresses."""
        deadline_s = time.monotonic() + limit_s
        tensors = [[list(array.shape), array.dtype.name] for array in arrays]
        body = {"slot": slot, "tensors": tensors, "in_place": in_place}
        with self._guarded(limit_s):
            payload = [as_bytes(array) for array in arrays]
            self._channel.send(Kind.UPLOAD, body, payload=payload, deadline_s=deadline_s)
            self._answer(deadline_s)

    def fetch(self, index: int, target: np.ndarray, limit_s: float) -> None:
        """Copy output `index` into `target`, whose size in bytes the child must match exactly."""
        deadline_s = time.monotonic() + limit_s
        with self._guarded(limit_s):
            self._channel.send(Kind.FETCH, first=index, deadline_s=deadline_s)
            frame = self._answer(deadline_s, payload_bytes=target.nbytes)
            if frame.payload_bytes != target.nbytes:
                raise ChannelCorrupt(f"output {index} has {frame.payload_bytes} bytes, not {target.nbytes}")
            self._channel.receive_payload(as_bytes(target), deadline_s)

    def finish(self, limit_s: float) -> None:
        """Ask the child to exit normally and wait for it; `clean` says whether it ended with exit 0."""
        if self.alive:
            self.ask_to_end(limit_s)
            self._bury(limit_s)

    def ask_to_end(self, limit_s: float) -> None:
        """Ask the child to exit normally without waiting for it; `finish_clean` then waits."""
        with contextlib.suppress(ChannelClosed, DeadlineExceeded):
            self._channel.send(Kind.EXIT, deadline_s=time.monotonic() + limit_s)

    def finish_clean(self, limit_s: float) -> None:
        """Wait for the end of a child that was asked for it.

        Raises WorkerFailure if it ends otherwise than with exit 0 by itself.
        """
        status, killed = self._bury(limit_s)
        if killed:
            raise self._failure(TIMEOUT, f"{self.name} did not end within {limit_s:g} s and was killed")
        if status != 0:
            failure_class, explanation = classify_exit(status, self.stderr_tail())
            raise self._failure(failure_class, f"{self.name} {explanation} as it ended ({self.exit})")

    def kill(self) -> None:
        """Kill the child and its group; nothing happens if it is gone already."""
        if self.alive:
            self._bury(0.0)

    def close(self) -> None:
        """Kill the child if it lives and free what the worker holds for it."""
        self.kill()
        if self._capture_fd >= 0:
            os.close(self._capture_fd)
            os.close(self._artefact_fd)
            if self._place.library_fd is not None:
                os.close(self._place.library_fd)
            self._capture_fd = self._artefact_fd = -1

    def stderr_tail(self) -> str:
        """The last characters of what the child wrote to its stdout and stderr."""
        return os.pread(self._capture_fd, CAPTURE_LIMIT_BYTES, 0).decode(errors="replace")[-_TAIL_CHARS:]

    def _answer(self, deadline_s: float, *, payload_bytes: int = 0) -> Frame:
        frame = self._channel.receive(deadline_s, payload_bytes=payload_bytes)
        if frame.kind == Kind.FAILED:
            raise self._reported_failure(frame)
        if frame.kind not in (Kind.DONE, Kind.READY):
            raise ChannelCorrupt(f"unexpected frame kind {frame.kind}")
        return frame

    def _reported_failure(self, frame: Frame) -> WorkerFailure:
        fields = [frame.body.get(key) for key in ("class", "message", "detail")]
        if not all(isinstance(field, str) for field in fields) or fields[0] not in _KNOWN_CLASSES:
            raise ChannelCorrupt("a failure without class, message and detail")
        failure_class, message, detail = (str(field) for field in fields)
        if failure_class == MEMORY and self._limits.memory_bytes is not None:
            message += f" (limit {self._limits.memory_bytes} bytes)"
        return WorkerFailure(failure_class, f"{self.name} {message}", detail=detail, program=self.name)

    @contextlib.contextmanager
    def _guarded(self, limit_s: float) -> Iterator[None]:
        if not self.alive:
            raise WorkerFailure(
                INFRASTRUCTURE, f"{self.name} is not running any more ({self.exit})", program=self.name
            )
        try:
            yield
        except DeadlineExceeded as error:
            self._bury(0.0)
            message = f"{self.name} did not answer within {limit_s:g} s and was killed"
            raise self._failure(TIMEOUT, message) from error
        except ChannelCorrupt as error:
            self._bury(0.0)
            message = f"{self.name} tampered with its channel to the worker and was killed: {error}"
            raise self._failure(HACK, message) from error
        except ChannelClosed as error:
            raise self._death() from error

    def _death(self) -> WorkerFailure:
        status, killed = self._bury(1.0)
        if killed:
            return self._failure(HACK, f"{self.name} closed its channel to the worker and was killed")
        failure_class, explanation = classify_exit(status, self.stderr_tail())
        return self._failure(failure_class, f"{self.name} {explanation} ({self.exit})")

    def _failure(self, failure_class: str, message: str) -> WorkerFailure:
        return WorkerFailure(failure_class, message, detail=self.stderr_tail(), program=self.name)

    def _bury(self, grace_s: float) -> tuple[int, bool]:
        self.alive = False
        self._channel.close()
        status, killed = self._server.reap(self.pid, grace_s)
        self.exit = describe_exit(status)
        self.clean = not killed and status == 0
        return status, killed


def memory_reading(pid: int, field: str) -> int | None:
    """A field of /proc/<pid>/status in bytes (VmRSS, VmHWM), None if it cannot be read.

    The kernel says it, so a program cannot lie about its memory.
    """
    try:
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            if line.startswith(f"{field}:".encode()):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _bounded_file() -> int:
    """An unlinked private file for a child's output; RLIMIT_FSIZE in the child bounds it."""
    try:
        fd = os.memfd_create("output", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.fchmod(fd, 0o600)
    return fd
