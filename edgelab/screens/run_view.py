"""The model of a watched run: a pure fold of events into a frozen view of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from edgelab.events import (
    STEPS,
    AnyEvent,
    DeviceAwaited,
    DeviceSampled,
    KernelTuned,
    LogLine,
    PairsTimed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    StepFinished,
    StepProgress,
    StepStarted,
    StoredEvent,
    TuningEnded,
    TuningProgress,
    TuningStarted,
)
from edgelab.narration import narrate
from edgelab.results import RunResult
from edgelab.screens.series import Series
from edgelab.screens.tuning_view import TuningView, taken
from edgelab.store.records import StepRecord

LOG_LIMIT = 5000
"""Log lines kept; older ones are in the store."""

StepState = Literal["waiting", "running", "ok", "failed", "stopped"]


class LogEntry(msgspec.Struct, frozen=True):
    """One line of the log. `number` counts the lines of the watched run from 1 without gaps."""

    number: int
    time_s: float
    level: str
    source: str
    text: str


class StepView(msgspec.Struct, frozen=True):
    """One step; `total` is 0 where the end is not known."""

    name: str
    state: StepState = "waiting"
    started_s: float | None = None
    elapsed_s: float | None = None
    done: int = 0
    total: int = 0
    note: str = ""
    summary: str = ""


class RunView(msgspec.Struct, frozen=True):
    """All that the Runner shows of a run. `timing` holds the newest statistics, which cover all pairs.

    `resumed` counts how often the run was resumed; `started_s` and the steps are those of its newest
    attempt. `waits_for` names who has the device that the run waits for. `tuning` is there in a tuning alone.
    """

    started: RunStarted | None = None
    started_s: float | None = None
    steps: tuple[StepView, ...] = tuple(StepView(name) for name in STEPS)
    log: tuple[LogEntry, ...] = ()
    log_total: int = 0
    log_skipped: int = 0
    candidate: Series = Series()
    baseline: Series = Series()
    speedup: Series = Series()
    resumed: int = 0
    waits_for: str = ""
    timing: PairsTimed | None = None
    device: DeviceSampled | None = None
    result: RunResult | None = None
    interrupted: RunInterrupted | None = None
    tuning: TuningView | None = None
    last_event_id: int = 0
    last_event_s: float | None = None

    @property
    def step(self) -> StepView | None:
        """The step under way."""
        return next((step for step in self.steps if step.state == "running"), None)

    @property
    def pairs(self) -> int:
        """Pairs timed, whether or not their latencies were seen."""
        final = self.result.pairs if self.result is not None else 0
        return final or (self.timing.pairs if self.timing is not None else 0)

    @property
    def whole_series(self) -> bool:
        """Whether the latencies of all pairs were seen; not so where the events' tail began too late."""
        return self.candidate.seen >= self.pairs


EMPTY = RunView()


def fold(view: RunView, events: Sequence[StoredEvent], *, max_log_lines: int | None = None) -> RunView:
    """Return the view after `events`. Events seen before are ignored.

    With `max_log_lines` only that many log lines of this batch are kept: warnings and errors first, then
    the newest; the others are counted in `log_skipped`. No other kind of event is ever left out.
    """
    folding = _Folding(view)
    for event in events:
        if event.id > folding.last_event_id:
            folding.take(event)
    return folding.view(max_log_lines)


def with_steps(view: RunView, records: Iterable[StepRecord]) -> RunView:
    """Return the view with steps from the store where its events began too late to tell.

    The rows have no word for a stop on request: in an interrupted run it is a failure without a reason.
    """
    steps = {step.name: step for step in view.steps}
    for record in records:
        known = steps.get(record.name)
        if known is not None and known.state in ("ok", "failed", "stopped"):
            continue
        if view.started_s is not None and record.started_s < view.started_s:
            # Left over from an earlier attempt.
            continue
        state: StepState = "running" if record.ok is None else "ok" if record.ok else "failed"
        step = StepView(
            name=record.name,
            state=state,
            started_s=record.started_s,
            elapsed_s=record.elapsed_s,
            done=known.done if known else 0,
            total=known.total if known else 0,
            note=known.note if known else "",
            summary=record.summary or "",
        )
        steps[record.name] = _stopped(step) if view.interrupted is not None else step
    return msgspec.structs.replace(view, steps=tuple(steps.values()))


def _stopped(step: StepView) -> StepView:
    """Return the step of an interrupted run: what was cut off without a reason was stopped on request."""
    cut_off = step.state in ("running", "failed") and not step.summary
    return msgspec.structs.replace(step, state="stopped") if cut_off else step


def with_series(view: RunView, candidate_s: Sequence[float], baseline_s: Sequence[float]) -> RunView:
    """Return the view with the series of all pairs, as the measurement has them."""
    pairs = list(zip(candidate_s, baseline_s, strict=False))
    return msgspec.structs.replace(
        view,
        candidate=Series().extended([a for a, _ in pairs]),
        baseline=Series().extended([b for _, b in pairs]),
        speedup=Series().extended(_ratios(pairs)),
    )


def _ratios(pairs: Iterable[tuple[float, float]]) -> list[float]:
    return [b / a for a, b in pairs if a > 0]


def with_result(view: RunView, result: RunResult | None) -> RunView:
    """Return the view with the verdict of the run's record, where its event was not seen."""
    return view if result is None or view.result is not None else msgspec.structs.replace(view, result=result)


class _Folding:
    """The accumulator of one `fold`: lists while events come, one frozen view at the end."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._changes: dict[str, object] = {}
        self._steps = {step.name: step for step in view.steps}
        self._log: list[tuple[float, str, str, str]] = []
        self._latencies: tuple[list[float], list[float]] = ([], [])
        self._restarted = False
        self._tuning = view.tuning
        self._resumed = view.resumed
        self._pairs = view.timing.pairs if view.timing else 0
        self.last_event_id = view.last_event_id
        self._last_event_s = view.last_event_s

    def take(self, event: StoredEvent) -> None:
        """Take one event into account."""
        body = event.body
        self.last_event_id, self._last_event_s = event.id, event.time_s
        if isinstance(body, LogLine):
            self._log.append((event.time_s, body.level, body.source, body.text))
            return
        if isinstance(body, PairsTimed):
            self._time(body)
        elif isinstance(body, StepStarted | StepProgress | StepFinished):
            self._step(body, event.time_s)
        else:
            self._take_rare(body, event.time_s)
        if (said := narrate(body)) is not None:
            self._log.append((event.time_s, *said))

    def _take_rare(self, body: AnyEvent, time_s: float) -> None:
        if isinstance(body, RunStarted):
            # A resumed run does all steps anew: nothing of the earlier attempt is true of this one.
            self._changes |= {"started": body, "started_s": time_s, "interrupted": None, "result": None}
            self._changes |= {"timing": None, "waits_for": ""}
            self._restarted, self._pairs, self._latencies = True, 0, ([], [])
            self._resumed += body.resumed
            self._steps = {name: StepView(name) for name in self._steps}
        elif isinstance(body, DeviceAwaited):
            self._changes["waits_for"] = body.holder or "another run"
        elif isinstance(body, RunFinished):
            self._changes["result"] = body.result
        elif isinstance(body, RunInterrupted):
            self._changes["interrupted"] = body
            self._steps = {name: _stopped(step) for name, step in self._steps.items()}
        elif isinstance(body, DeviceSampled):
            self._changes["device"] = body
        elif isinstance(body, TuningStarted | TuningProgress | KernelTuned | TuningEnded):
            self._tuning = taken(self._tuning, body)
            self._changes["tuning"] = self._tuning
        # All others are told by the log.

    def _time(self, body: PairsTimed) -> None:
        if body.pairs <= self._pairs:
            # Timing began anew (a resumed run, a lost clock lock): the older pairs do not count.
            self._restarted = True
            self._latencies = ([], [])
        self._pairs = body.pairs
        count = min(len(body.candidate_s), len(body.baseline_s))
        self._latencies[0].extend(body.candidate_s[:count])
        self._latencies[1].extend(body.baseline_s[:count])
        self._changes["timing"] = body

    def _step(self, body: StepStarted | StepProgress | StepFinished, time_s: float) -> None:
        step = self._steps.get(body.step, StepView(body.step))
        if isinstance(body, StepStarted):
            step = StepView(body.step, "running", started_s=time_s)
            self._changes["waits_for"] = ""
        elif isinstance(body, StepProgress):
            step = msgspec.structs.replace(
                step, state="running", done=body.done, total=body.total, note=body.note
            )
        else:
            state: StepState = "ok" if body.ok else "stopped" if body.stopped else "failed"
            step = msgspec.structs.replace(
                step, state=state, elapsed_s=body.elapsed_s, summary=body.summary, note=""
            )
        self._steps[body.step] = step

    def view(self, max_log_lines: int | None) -> RunView:
        """Return the frozen view."""
        view = self._view
        changes = self._changes
        if self.last_event_id != view.last_event_id:
            changes |= {"last_event_id": self.last_event_id, "last_event_s": self._last_event_s}
            changes |= {"steps": tuple(self._steps.values()), "resumed": self._resumed}
        if self._log:
            changes |= self._logged(max_log_lines)
        if "timing" in changes:
            changes |= self._series()
        return msgspec.structs.replace(view, **changes) if changes else view

    def _logged(self, max_log_lines: int | None) -> dict[str, object]:
        lines = self._log
        if max_log_lines is not None and len(lines) > max_log_lines:
            lines = _fair_share(lines, max_log_lines)
        skipped = len(self._log) - len(lines)
        total = self._view.log_total
        # Lines that can no longer be shown are not worth making.
        lines = lines[-LOG_LIMIT:]
        start = total + 1
        fresh = tuple(LogEntry(start + index, *line) for index, line in enumerate(lines))
        return {
            "log": (self._view.log + fresh)[-LOG_LIMIT:],
            "log_total": total + len(fresh),
            "log_skipped": self._view.log_skipped + skipped,
        }

    def _series(self) -> dict[str, object]:
        old = RunView() if self._restarted else self._view
        candidate, baseline = self._latencies
        ratios = _ratios(zip(candidate, baseline, strict=True))
        return {
            "candidate": old.candidate.extended(candidate),
            "baseline": old.baseline.extended(baseline),
            "speedup": old.speedup.extended(ratios),
        }


def _fair_share(lines: list[tuple[float, str, str, str]], keep: int) -> list[tuple[float, str, str, str]]:
    loud = [index for index, line in enumerate(lines) if line[1] in ("warning", "error")][-keep:]
    chosen = set(loud)
    for index in range(len(lines) - 1, -1, -1):
        if len(chosen) >= keep:
            break
        chosen.add(index)
    return [lines[index] for index in sorted(chosen)]
