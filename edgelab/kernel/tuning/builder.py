"""Compiles the candidates of a batch in forks of a process that has TVM and its intrinsics loaded.

A fork inherits the candidates themselves, so nothing is written out and read again. One child a core takes
one candidate after the other; one that dies or hangs costs its candidate, and another takes its place.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from edgelab.kernel.confinement import confine
from edgelab.kernel.tuning.protocol import Bundle, Place

_READ_BYTES = 1 << 16
_MESSAGE_CHARS = 2000
_RECURSION_LIMIT = 5000

Compile = Callable[[Any, Path], None]
"""Compiles a candidate into a library at the path. Runs in a child."""


class _Answer(msgspec.Struct, frozen=True):
    """A child's word: the candidate it has done, and why it could not (empty: it is built)."""

    number: int
    error: str


class _Child:
    """One forked compiler: the candidate it is at, and until when."""

    def __init__(self, serve: Callable[[int, int], None]) -> None:
        reading, self.orders = os.pipe()
        self.answers, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.orders)
            os.close(self.answers)
            _serve_and_exit(serve, reading, writing)
        os.close(reading)
        os.close(writing)
        self.number = -1
        self.deadline_s = 0.0
        self.pending = b""

    def order(self, number: int, limit_s: float) -> None:
        """Give the child a candidate."""
        self.number = number
        self.deadline_s = time.monotonic() + limit_s
        # A child that died meanwhile shows at its other pipe.
        with contextlib.suppress(BrokenPipeError):
            os.write(self.orders, b"%d\n" % number)

    def read(self) -> Iterator[_Answer]:
        """Take what the child said. Raises EOFError when it is gone."""
        data = os.read(self.answers, _READ_BYTES)
        if not data:
            raise EOFError
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            yield msgspec.json.decode(line, type=_Answer)

    def end(self) -> int:
        """Kill the child with what it started; its wait status."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        os.close(self.orders)
        os.close(self.answers)
        return os.waitpid(self.pid, 0)[1]


def _serve_and_exit(serve: Callable[[int, int], None], reading: int, writing: int) -> None:
    status = 1
    try:
        os.setpgid(0, 0)
        # TVM and others handle these in the tuner; a compiler that crashes is to die of it.
        for number in (
            signal.SIGTERM,
            signal.SIGSEGV,
            signal.SIGBUS,
            signal.SIGFPE,
            signal.SIGILL,
            signal.SIGABRT,
        ):
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        # The compiler's own words go where the tuner's do; stdout belongs to the protocol.
        os.dup2(2, 1)
        serve(reading, writing)
        status = 0
    finally:
        # Skips atexit handlers and the destructors of the tuner's copy of everything.
        os._exit(status)


class ForkBuilder:
    """Builds batches of candidates. Single-threaded in its own process, because it forks."""

    def __init__(
        self, compile_one: Compile, folder: Path, *, workers: int, limit_s: float, memory_limit_bytes: int
    ) -> None:
        self._compile = compile_one
        self._folder = folder
        self._workers = workers
        self._limit_s = limit_s
        self._memory_limit_bytes = memory_limit_bytes
        self._bundles = 0

    def build(self, candidates: Sequence[Any]) -> Bundle:
        """Compile `candidates` and put their libraries into one file; one that fails is told in `errors`."""
        batch = _Batch(len(candidates), self._limit_s)
        children: list[_Child] = []
        with selectors.DefaultSelector() as selector:
            try:
                for _ in range(min(self._workers, len(candidates))):
                    children.append(self._start(candidates, batch, selector))
                while batch.open:
                    for key, _ in selector.select(
                        max(0.0, batch.next_deadline_s(children) - time.monotonic())
                    ):
                        self._hear(key.data, batch, children, candidates, selector)
                    self._end_late(batch, children, candidates, selector)
            finally:
                for child in children:
                    child.end()
        return self._bundle(batch.errors)

    def library(self, number: int) -> Path:
        """Where a child puts the library of candidate `number`."""
        return self._folder / f"candidate-{number}.so"

    def _start(self, candidates: Sequence[Any], batch: _Batch, selector: selectors.BaseSelector) -> _Child:
        child = _Child(lambda reading, writing: self._serve(candidates, reading, writing))
        selector.register(child.answers, selectors.EVENT_READ, child)
        batch.next_order(child)
        return child

    def _serve(self, candidates: Sequence[Any], reading: int, writing: int) -> None:
        """A child's work: a number in, an answer out, until the orders end."""
        confine(self._memory_limit_bytes, os.getppid())
        sys.setrecursionlimit(_RECURSION_LIMIT)
        with os.fdopen(reading, "rb", buffering=0) as orders:
            for line in iter(orders.readline, b""):
                number, error = int(line), ""
                try:
                    self._compile(candidates[number], self.library(number))
                except Exception as failure:  # noqa: BLE001 - whatever ends one build is its result
                    error = f"{type(failure).__name__}: {failure}"[-_MESSAGE_CHARS:]
                os.write(writing, msgspec.json.encode(_Answer(number, error)) + b"\n")

    def _hear(
        self,
        child: _Child,
        batch: _Batch,
        children: list[_Child],
        candidates: Sequence[Any],
        selector: selectors.BaseSelector,
    ) -> None:
        try:
            for answer in child.read():
                batch.done(answer.number, answer.error)
                batch.next_order(child)
        except EOFError:
            self._replace(child, "", batch, children, candidates, selector)

    def _end_late(
        self,
        batch: _Batch,
        children: list[_Child],
        candidates: Sequence[Any],
        selector: selectors.BaseSelector,
    ) -> None:
        now_s = time.monotonic()
        for child in [child for child in children if child.number >= 0 and child.deadline_s <= now_s]:
            why = f"building took longer than {self._limit_s:g} s"
            self._replace(child, why, batch, children, candidates, selector)

    def _replace(
        self,
        child: _Child,
        why: str,
        batch: _Batch,
        children: list[_Child],
        candidates: Sequence[Any],
        selector: selectors.BaseSelector,
    ) -> None:
        selector.unregister(child.answers)
        children.remove(child)
        status = child.end()
        if child.number >= 0:
            batch.done(child.number, why or f"the compiler died ({_how(status)})")
        if batch.waiting:
            children.append(self._start(candidates, batch, selector))

    def _bundle(self, errors: Sequence[str]) -> Bundle:
        self._bundles += 1
        path = self._folder / f"bundle-{self._bundles}"
        places: list[Place | None] = []
        with path.open("wb") as bundle:
            for number, error in enumerate(errors):
                library = self.library(number)
                if error:
                    library.unlink(missing_ok=True)
                    places.append(None)
                    continue
                content = library.read_bytes()
                places.append((bundle.tell(), len(content)))
                bundle.write(content)
                library.unlink()
        return Bundle(str(path), tuple(places), tuple(errors))


class _Batch:
    """Which candidates wait, are under way, or are done."""

    def __init__(self, count: int, limit_s: float) -> None:
        self.errors = [""] * count
        self.open = count
        self._next = 0
        self._limit_s = limit_s

    @property
    def waiting(self) -> bool:
        """Whether there is a candidate that no child has."""
        return self._next < len(self.errors)

    def next_order(self, child: _Child) -> None:
        """Give `child` the next candidate, or none."""
        if self.waiting:
            child.order(self._next, self._limit_s)
            self._next += 1
        else:
            child.number = -1

    def done(self, number: int, error: str) -> None:
        """Note the outcome of a candidate."""
        self.errors[number] = error
        self.open -= 1

    def next_deadline_s(self, children: Sequence[_Child]) -> float:
        """When the first child under way is late (time.monotonic)."""
        busy = [child.deadline_s for child in children if child.number >= 0]
        return min(busy, default=time.monotonic() + self._limit_s)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.waitstatus_to_exitcode(status)}"
