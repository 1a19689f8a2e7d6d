"""The tuner: a process with TVM and its intrinsics loaded that forks a child for every extraction and search.

`python -m edgelab.kernel.tuning.tuner` reads one message a line on stdin and writes one on stdout, in turns.
A child speaks over the same two pipes while it lives; when it dies, the tuner says so in its place.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import traceback
from typing import TypeVar

import msgspec

from edgelab.kernel import without_torch  # noqa: F401 - comes before whatever imports tvm
from edgelab.kernel.tuning import fast_intrinsics
from edgelab.kernel.tuning.extraction import extract
from edgelab.kernel.tuning.protocol import SearchReply, TunerEvent, TunerRequest
from edgelab.kernel.tuning.search import Search
from edgelab.worker.sandbox import die_with_parent

_READ_BYTES = 1 << 16
_DETAIL_CHARS = 8000

Message = TypeVar("Message")


class Pipe:
    """Both ends of the protocol. Nothing is read ahead of a line's end: a child goes on where its parent was."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._pending = b""

    def receive(self, kind: type[Message]) -> Message | None:
        """The next message, None when the other end has closed."""
        while b"\n" not in self._pending:
            data = os.read(self._reading, _READ_BYTES)
            if not data:
                return None
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return msgspec.json.decode(line, type=kind)

    def send(self, event: TunerEvent) -> None:
        """Write one message whole."""
        view = memoryview(msgspec.json.encode(event) + b"\n")
        while view:
            view = view[os.write(self._writing, view) :]

    def exchange(self, event: TunerEvent) -> SearchReply:
        """Send an event and wait for the reply; ends the process when nobody answers any more."""
        self.send(event)
        reply = self.receive(SearchReply)
        if reply is None:
            os._exit(1)
        return reply

    def closed(self, child: int) -> bool:
        """Wait until `child` (a pidfd) ends; True when the other end closed before."""
        poller = select.poll()
        poller.register(child, select.POLLIN)
        poller.register(self._reading, 0)
        return any(descriptor == self._reading for descriptor, _ in poller.poll())


def serve(pipe: Pipe) -> None:
    """Answer requests until the other end closes."""
    while (request := pipe.receive(TunerRequest)) is not None:
        pid = os.fork()
        if pid == 0:
            _become_child(request, pipe)
        pidfd = os.pidfd_open(pid)
        try:
            gone = pipe.closed(pidfd)
        finally:
            os.close(pidfd)
        if gone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if gone:
            return
        if status != 0:
            pipe.send(
                TunerEvent(event="failed", died=True, message=f"the tuner's child died ({_how(status)})")
            )


def _become_child(request: TunerRequest, pipe: Pipe) -> None:
    status = 1
    try:
        die_with_parent(os.getppid())
        _work(request, pipe)
        status = 0
    finally:
        # Skips atexit handlers and the destructors of the tuner's copy of everything.
        os._exit(status)


def _work(request: TunerRequest, pipe: Pipe) -> None:
    try:
        if request.extract is not None:
            pipe.send(TunerEvent(event="extracted", extracted=extract(request.extract)))
        elif request.search is not None:
            Search(request.search, pipe.exchange).run()
            pipe.send(TunerEvent(event="ended"))
    except Exception as error:  # noqa: BLE001 - whatever ends a search is told, not lost
        message = next(
            (line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__
        )
        detail = traceback.format_exc()[-_DETAIL_CHARS:]
        pipe.send(TunerEvent(event="failed", message=message.strip(), detail=detail))


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.waitstatus_to_exitcode(status)}"


def main() -> int:
    """Entry point; stdout carries messages only, so whatever else prints goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    writing = os.dup(1)
    os.dup2(2, 1)
    fast_intrinsics.load()
    import tvm
    import xgboost  # noqa: F401 - loaded once for all searches

    gc.collect()
    gc.freeze()
    pipe = Pipe(0, writing)
    pipe.send(TunerEvent(event="ready", tvm_version=tvm.__version__))
    serve(pipe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
