"""Reads one run for a screen: all of it at first, then what is new. Blocks; runs in the store's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edgelab.screens.run_view import EMPTY, RunView, fold, with_result, with_series, with_steps
from edgelab.store.records import RunRecord, RunState

if TYPE_CHECKING:
    from edgelab.screens.sources import Sources

TAIL = 6000
"""Newest events read when a run is opened; what lies before is in the rows of its steps and result."""

BATCH = 4000
"""Events read at a time."""

_BATCHES_A_POLL = 3
_LOG_LINES_WHEN_BEHIND = 400
_RECORD_EVERY_S = 1.0


class RunSnapshot(msgspec.Struct, frozen=True):
    """What the Runner paints. `record` is None for a run the store does not know."""

    run_id: str
    view: RunView = EMPTY
    record: RunRecord | None = None
    state: RunState = "queued"
    behind: bool = False


class RunFeed:
    """The events of one run, folded. One thread at a time."""

    def __init__(self, sources: Sources, run_id: str) -> None:
        self._sources = sources
        self._run_id = run_id
        self._view = EMPTY
        self._record: RunRecord | None = None
        self._state: RunState = "queued"
        self._record_read_s: float | None = None
        self._opened = False
        self._series_read = False

    @property
    def run_id(self) -> str:
        """The run this feed reads."""
        return self._run_id

    def poll(self) -> RunSnapshot:
        """Return the run's present state, reading only what is new."""
        behind = self._read_new() if self._opened else self._open()
        # The state comes after the events: a run seen as ended has then shown all it said.
        self._read_record()
        if self._record is not None and self._record.state == "done":
            self._view = with_result(self._view, self._record.result)
            self._complete_series()
        return RunSnapshot(self._run_id, self._view, self._record, self._state, behind)

    def _open(self) -> bool:
        store = self._sources.store
        tail = store.events_tail(self._run_id, TAIL)
        if not tail:
            return False
        self._view = with_steps(fold(EMPTY, tail), store.steps(self._run_id))
        if len(tail) == TAIL:
            # What happened before the tail is told by one query, not by reading everything.
            resumed = store.times_resumed(self._run_id)
            self._view = msgspec.structs.replace(self._view, resumed=resumed)
        self._opened = True
        return False

    def _complete_series(self) -> None:
        """Take the whole series from the measurement, once, where the events' tail began too late for it."""
        if self._series_read or self._view.whole_series:
            return
        self._series_read = True
        measured = self._sources.store.measurement_of(self._run_id)
        series = self._sources.series(measured.series_blob) if measured is not None else None
        if series is not None:
            self._view = with_series(self._view, series.candidate_s, series.baseline_s)

    def _read_new(self) -> bool:
        for batch in range(_BATCHES_A_POLL):
            events = self._sources.store.events_after(self._view.last_event_id, run=self._run_id, limit=BATCH)
            full = len(events) == BATCH
            # A full batch means that events come faster than they are read: the log gives way.
            keep = _LOG_LINES_WHEN_BEHIND if full or batch else None
            self._view = fold(self._view, events, max_log_lines=keep)
            if not full:
                return False
        return True

    def _read_record(self) -> None:
        now_s = self._sources.now_s()
        ended = self._view.result is not None or self._view.interrupted is not None
        fresh = self._record_read_s is not None and 0 <= now_s - self._record_read_s < _RECORD_EVERY_S
        if fresh and not (ended and self._state == "running"):
            return
        self._record = self._sources.store.run(self._run_id)
        self._record_read_s = now_s
        if self._record is not None:
            self._state = self._sources.run_state(self._record)
