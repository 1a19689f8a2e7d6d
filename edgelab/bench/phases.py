"""The clock of one evaluation: which step is under way, and how many seconds each took."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

from edgelab.events import EventBody, Step, StepFinished, StepStarted

Emit = Callable[[EventBody], None]


class StepScope:
    """Handed to the body of a step, which leaves its one-line summary here."""

    def __init__(self) -> None:
        self.summary = ""


class PhaseClock:
    """Announces steps as events and adds up their durations (seconds, monotonic clock)."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._begin_s = time.monotonic()
        self.phase_s: dict[str, float] = {}

    @property
    def elapsed_s(self) -> float:
        """Seconds since the evaluation began."""
        return time.monotonic() - self._begin_s

    @contextlib.contextmanager
    def step(self, name: Step) -> Iterator[StepScope]:
        """Run the block as step `name`; a raised error ends the step as failed and goes on."""
        scope = StepScope()
        begin_s = time.monotonic()
        self._emit(StepStarted(step=name))
        try:
            yield scope
        except BaseException as error:
            took_s = self._add(name, begin_s)
            stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            summary = "" if stopped else (str(error) or type(error).__name__).splitlines()[0]
            self._emit(StepFinished(step=name, ok=False, elapsed_s=took_s, summary=summary, stopped=stopped))
            raise
        took_s = self._add(name, begin_s)
        self._emit(StepFinished(step=name, ok=True, elapsed_s=took_s, summary=scope.summary))

    def _add(self, name: str, begin_s: float) -> float:
        took_s = time.monotonic() - begin_s
        self.phase_s[name] = self.phase_s.get(name, 0.0) + took_s
        return took_s
