"""What happens on a device: its newest run and its newest results, as lines of the Lab screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgelab import quantities as fmt
from edgelab.screens.device_card import WIDE_CELLS
from edgelab.screens.result_rows import Outcome, outcomes, quality_span, speedup_spans, verdict_span_of
from edgelab.screens.run_feed import RunSnapshot
from edgelab.screens.run_view import EMPTY, with_result
from edgelab.screens.run_words import comparison, state_span, task_name, verdict_span
from edgelab.screens.runner_panels import elapsed_s, latency_plot
from edgelab.widgets.marks import bar
from edgelab.widgets.plot import plot_lines
from edgelab.widgets.spans import Line, Span, beside, fit, pad, rule, spread

if TYPE_CHECKING:
    from edgelab.screens.sources import Sources
    from edgelab.store.records import StoredSample

_NEWEST = 200
_SHORTEST_PLOT = 5
_PLOTTED_ROWS = 18
_ALL_COLUMNS_CELLS = 66


class Activity(msgspec.Struct, frozen=True):
    """What the store has about one device. `run` is its newest run."""

    run: RunSnapshot | None = None
    found: tuple[Outcome, ...] = ()
    sample: StoredSample | None = None


def read_activity(sources: Sources, devices: Sequence[str]) -> dict[str, Activity]:
    """Return the activity of each device. Blocks; called in the store's thread."""
    runs = sources.store.runs(_NEWEST)
    found = outcomes(sources.store.measurements(_NEWEST), runs)
    activities = {}
    for device in devices:
        newest = next((run for run in runs if run.device == device), None)
        snapshot = None
        if newest is not None:
            view = with_result(EMPTY, newest.result)
            snapshot = RunSnapshot(newest.id, view, newest, sources.run_state(newest))
        here = tuple(outcome for outcome in found if outcome.device == device)
        activities[device] = Activity(snapshot, here, sources.store.device_sample(device))
    return activities


def activity_lines(
    activity: Activity, watched: RunSnapshot | None, now_s: float, cells: int, rows: int
) -> list[Line]:
    """Return at most `rows` lines: the newest run, with its plot where there is room, and the results.

    `watched` is the run that the app follows; it knows more than the store's row of the same run.
    """
    newest = _newest(activity, watched)
    if cells < WIDE_CELLS:
        run = _run_lines(newest, now_s, cells, 3 if rows < 8 else 4)
        return [*run, *_result_lines(activity.found, now_s, cells, rows - len(run))][:rows]
    half = (cells - 4) // 2
    left = _run_lines(newest, now_s, half, rows)
    return beside(left, _result_lines(activity.found, now_s, half, rows), half, 4)[:rows]


def wanted_rows(activity: Activity, watched: RunSnapshot | None) -> int:
    """Return how many lines the activity can make good use of on a wide screen."""
    newest = _newest(activity, watched)
    plotted = newest is not None and bool(newest.view.candidate.values)
    return max(_PLOTTED_ROWS if plotted else 4, min(len(activity.found) + 1, _PLOTTED_ROWS))


def _newest(activity: Activity, watched: RunSnapshot | None) -> RunSnapshot | None:
    if watched is not None and watched.record is not None and _is_newer(watched, activity.run):
        return watched
    return activity.run


def _is_newer(watched: RunSnapshot, newest: RunSnapshot | None) -> bool:
    """Say whether the followed run is the newest one, or under way while the newest is not."""
    if newest is None or newest.run_id == watched.run_id:
        return True
    return watched.state == "running" and newest.state != "running"


def _run_lines(snapshot: RunSnapshot | None, now_s: float, cells: int, rows: int) -> list[Line]:
    if snapshot is None:
        none: Line = [Span("None yet: ", "muted"), Span("2", "accent bold", "app.go('tasks')")]
        return [rule("Run", cells), [*none, Span(" chooses a task, Enter there runs it.", "muted")]]
    alive = snapshot.state in ("running", "queued")
    title = "Run under way" if alive else "Newest run"
    lead = state_span(snapshot.state) if alive else verdict_span(snapshot.view.result, snapshot.state)
    took = Span(fmt.elapsed(elapsed_s(snapshot, now_s)), "muted")
    name: Line = [lead, Span("  "), Span(task_name(snapshot), "text bold")]
    lines = [
        rule(title, cells, f"run {snapshot.run_id}"),
        spread(name, [took], cells),
        fit(_now_line(snapshot, cells), cells),
    ]
    room = rows - len(lines) - 1
    if room >= _SHORTEST_PLOT and snapshot.view.candidate.values:
        lines += [[], *plot_lines(latency_plot(snapshot.view), cells, room)]
    return lines[:rows]


def _now_line(snapshot: RunSnapshot, cells: int) -> Line:
    """Return what the run does now, or what came of it."""
    view = snapshot.view
    result, step = view.result, view.step
    if result is not None:
        if result.failure is not None:
            return [
                Span(f"{result.failure.failure_class}: ", "bad"),
                Span(result.failure.message, "muted"),
            ]
        if result.verdict != "ok":
            return [Span("Too noisy to count: no speed-up is reported.", "muted")]
        numbers = f"{fmt.speedup(result.speedup)} {fmt.interval(result.speedup_ci95)}"
        return [Span(numbers, "text"), Span(f"  {comparison(result)}", "muted")]
    if step is None:
        return [Span("No verdict.", "muted")]
    line: Line = [Span(f"{step.name} ", "text")]
    if step.total:
        line += [
            *bar(step.done / step.total, min(24, cells // 3)),
            Span(f" {step.done}/{step.total}", "muted"),
        ]
    if view.timing is not None:
        so_far = f"  so far {fmt.speedup(view.timing.speedup)} {fmt.interval(view.timing.speedup_ci95)}"
        line.append(Span(so_far, "muted"))
    return line


def _result_lines(found: Sequence[Outcome], now_s: float, cells: int, rows: int) -> list[Line]:
    lines = [rule("Newest results here", cells, "5 shows all")]
    if not found:
        lines.append([Span("Nothing was measured on this device yet.", "muted")])
    lines += [_result_line(outcome, now_s, cells) for outcome in found[: max(rows - 1, 0)]]
    return lines


def _result_line(outcome: Outcome, now_s: float, cells: int) -> Line:
    speedup, bounds = speedup_spans(outcome)
    left: Line = []
    columns = [(verdict_span_of(outcome), 10), (speedup, 7), (bounds, 15), (quality_span(outcome), 7)]
    if cells < _ALL_COLUMNS_CELLS:
        # The name of the task is worth more than the interval; why something does not count stays.
        columns[1:] = [(speedup if outcome.counts else bounds, 11)]
    for span, room in columns:
        left += [*pad([span], room), Span(" ")]
    age = Span(f" {fmt.age(now_s - outcome.when_s):>10}", "faint")
    return spread([*left, Span(outcome.task, "text")], [age], cells)
