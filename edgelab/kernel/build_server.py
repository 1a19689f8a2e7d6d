"""Build server: imports TVM once and forks a disposable child for every program.

`python -m edgelab.kernel.build_server` reads one ServerRequest a line on stdin and writes one ServerEvent a line
on stdout; it ends when stdin does. It has a single thread, because it forks.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import diagnostics, without_torch  # noqa: F401 - without_torch comes before whatever imports tvm
from edgelab.kernel.adapters.llvm import host_target
from edgelab.kernel.build_child import run_build
from edgelab.kernel.build_protocol import BuildRequest, ServerEvent, ServerRequest, workspace_prefix
from edgelab.kernel.confinement import confine
from edgelab.kernel.warm_up import warm_up

_STDERR_TAIL_BYTES = 16_384
_READ_BYTES = 1 << 16
_ENCODER = msgspec.json.Encoder()


class _Child:
    """One running build: its process, its pipe and what it has reported so far."""

    def __init__(self, request_id: int, request: BuildRequest) -> None:
        self.request_id = request_id
        self.workspace = Path(tempfile.mkdtemp(prefix=workspace_prefix(os.getpid()), dir=request.out_folder))
        self.deadline_s = time.monotonic() + request.time_limit_s
        self.time_limit_s = request.time_limit_s
        self.phase = "parse"
        self.result: ServerEvent | None = None
        self.pending = b""
        self.pipe, writer = os.pipe()
        os.set_blocking(self.pipe, False)
        self.pid = os.fork()
        if self.pid == 0:
            _run_child(request, self.workspace, writer)
        os.close(writer)

    @property
    def stderr_path(self) -> Path:
        """Where the child's own output went."""
        return self.workspace / "stderr"

    def read(self, announce: Callable[[ServerEvent], None]) -> bool:
        """Take what the child reported and announce its phases. False at the end of the pipe."""
        try:
            data = os.read(self.pipe, _READ_BYTES)
        except BlockingIOError:
            return True
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            event = msgspec.json.decode(line, type=ServerEvent)
            if event.event == "phase":
                self.phase = event.phase
                announce(msgspec.structs.replace(event, id=self.request_id))
            else:
                self.result = event
        return bool(data)

    def end(self) -> int:
        """Kill whatever is left of the child's session, reap the child and give its wait status."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pipe)
        return status

    def stderr_tail(self) -> str:
        """The last lines that the compiler wrote."""
        try:
            with self.stderr_path.open("rb") as file:
                file.seek(max(0, self.stderr_path.stat().st_size - _STDERR_TAIL_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""


def _run_child(request: BuildRequest, workspace: Path, writer: int) -> None:
    """Everything a forked child does; it never returns."""
    server = os.getppid()
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        output = os.open(workspace / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _close_others(writer)
        tempfile.tempdir = str(workspace)
        os.environ["TMPDIR"] = str(workspace)
        confine(request.memory_limit_bytes, server)
        run_build(request, workspace, lambda event: _write_all(writer, _ENCODER.encode(event) + b"\n"))
        status = 0
    finally:
        # Skips atexit handlers and the destructors of the server's copy of everything.
        os._exit(status)


def _close_others(keep: int) -> None:
    for entry in list(Path("/proc/self/fd").iterdir()):
        descriptor = int(entry.name)
        if descriptor > 2 and descriptor != keep:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class BuildServer:
    """The loop: requests in, children forked, watched and reaped, events out."""

    def __init__(self, requests: int, events: int) -> None:
        self.requests = requests
        self.events = events
        self.children: dict[int, _Child] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(requests, selectors.EVENT_READ, None)
        self.pending = b""
        self.open = True

    def run(self) -> None:
        """Serve until stdin ends or `shutdown`; all children are gone when this returns."""
        self._send(ServerEvent(event="ready", host=host_target()))
        try:
            while self.open:
                for key, _ in self.selector.select(self._patience_s()):
                    if key.data is None:
                        self._take_requests()
                    elif key.data.request_id in self.children and not key.data.read(self._send):
                        self._finish(key.data)
                self._kill_late_children()
        finally:
            for child in list(self.children.values()):
                self._discard(child)

    def _patience_s(self) -> float | None:
        deadlines = [child.deadline_s for child in self.children.values()]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _take_requests(self) -> None:
        data = os.read(self.requests, _READ_BYTES)
        if not data:
            self.open = False
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self._handle(msgspec.json.decode(line, type=ServerRequest))

    def _handle(self, request: ServerRequest) -> None:
        if request.op == "shutdown":
            self.open = False
        elif request.op == "cancel":
            child = self.children.get(request.cancels)
            if child is not None:
                self._discard(child)
                self._send(ServerEvent(id=request.cancels, event="cancelled"))
        elif request.build is not None:
            self._fork(request.id, request.build)

    def _fork(self, request_id: int, build: BuildRequest) -> None:
        try:
            child = _Child(request_id, build)
        except OSError as error:
            failure = EvaluationFailure(
                FailureClass.INFRASTRUCTURE, f"a build could not start in {build.out_folder}: {error}"
            )
            self._send_failure(request_id, failure)
            return
        self.children[request_id] = child
        self.selector.register(child.pipe, selectors.EVENT_READ, child)

    def _finish(self, child: _Child) -> None:
        """The child closed its pipe: it reported a result, or it died."""
        status = self._remove(child)
        failure = _died(status, child) if child.result is None else None
        shutil.rmtree(child.workspace, ignore_errors=True)
        if child.result is not None:
            self._send(msgspec.structs.replace(child.result, id=child.request_id))
        elif failure is not None:
            self._send_failure(child.request_id, failure)

    def _kill_late_children(self) -> None:
        now = time.monotonic()
        for child in [child for child in self.children.values() if child.deadline_s <= now]:
            phase = child.phase
            self._discard(child)
            message = f"building took longer than {child.time_limit_s:g} s; it was stopped during {phase}"
            self._send_failure(child.request_id, EvaluationFailure(FailureClass.TIMEOUT, message))

    def _discard(self, child: _Child) -> None:
        self._remove(child)
        shutil.rmtree(child.workspace, ignore_errors=True)

    def _remove(self, child: _Child) -> int:
        del self.children[child.request_id]
        self.selector.unregister(child.pipe)
        return child.end()

    def _send_failure(self, request_id: int, failure: EvaluationFailure) -> None:
        self._send(
            ServerEvent(
                id=request_id,
                event="error",
                failure_class=str(failure.failure_class),
                message=failure.message,
                detail=failure.detail,
            )
        )

    def _send(self, event: ServerEvent) -> None:
        _write_all(self.events, _ENCODER.encode(event) + b"\n")


def _died(status: int, child: _Child) -> EvaluationFailure:
    stderr = child.stderr_tail()
    if os.WIFSIGNALED(status):
        return diagnostics.crashed(signal.Signals(os.WTERMSIG(status)).name, child.phase, stderr)
    message = f"the build child ended without a result during {child.phase}"
    return EvaluationFailure(FailureClass.INFRASTRUCTURE, message, detail=stderr)


def main() -> int:
    """Entry point; stdout carries events only, so whatever else prints goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    events = os.dup(1)
    os.dup2(2, 1)
    warm_up()
    BuildServer(0, events).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
