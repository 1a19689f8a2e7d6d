"""What the Runner's panels say: pure functions from a snapshot to lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgelab import quantities as fmt
from edgelab.results import Latency, RobustVariation
from edgelab.screens.run_words import run_subject, state_span, task_name, waits
from edgelab.widgets.marks import bar
from edgelab.widgets.plot import Curve, Plot
from edgelab.widgets.spans import Line, Span, fit, pad, rule, spread, width

if TYPE_CHECKING:
    from edgelab.screens.run_feed import RunSnapshot
    from edgelab.screens.run_view import RunView, StepView

_STEP_MARKS = {
    "waiting": ("·", "waiting", "faint"),
    "not reached": ("·", "not reached", "faint"),
    "running": ("▸", "running", "accent"),
    "ok": ("✓", "done", "good"),
    "failed": ("✗", "failed", "bad"),
    "stopped": ("‖", "stopped", "warn"),
}

_LEAST_SHARE = 0.02
"""Least part of a value's size that its axis spans: noise of a tenth of a percent is then a steady line."""


def elapsed_s(snapshot: RunSnapshot, now_s: float) -> float | None:
    """Return how long the newest attempt took, or takes so far; a lost run ends with its last event."""
    record, view = snapshot.record, snapshot.view
    if view.result is not None and view.result.elapsed_s:
        return view.result.elapsed_s
    # The record is read less often than the events, and keeps the end of the attempt before.
    starts = (view.started_s, record.started_s if record is not None else None)
    started_s = max((start for start in starts if start is not None), default=None)
    if started_s is None:
        return None
    if snapshot.state == "running":
        return max(now_s - started_s, 0.0)
    ended_s = record.finished_s if record is not None else None
    if ended_s is None or ended_s < started_s:
        ended_s = view.last_event_s
    return None if ended_s is None else max(ended_s - started_s, 0.0)


def _shown_s(seconds: float | None) -> float | None:
    """Keep a clock that has just started from flickering through milliseconds."""
    return None if seconds is None else max(seconds, 0.1)


def header_lines(snapshot: RunSnapshot, now_s: float, cells: int) -> list[Line]:
    """Return two lines: state, task, device and time; run, candidate, baseline and clocks."""
    record, view = snapshot.record, snapshot.view
    where = "" if record is None else f" on {record.device} ({record.backend})"
    left: Line = [Span(" "), state_span(snapshot.state), Span("  "), Span(task_name(snapshot), "text bold")]
    left.append(Span(where, "muted"))
    if view.resumed:
        left.append(Span("  resumed" + (f" {view.resumed} times" if view.resumed > 1 else ""), "warn"))
    if waits(snapshot):
        left.append(Span("  waits for the device", "warn"))
    if record is not None and record.simulated:
        left.append(Span("  simulated", "warn"))
    right: Line = [
        Span(fmt.elapsed(_shown_s(elapsed_s(snapshot, now_s))), "text"),
        Span(" elapsed ", "muted"),
    ]
    second: Line = [Span(" run ", "faint"), Span(snapshot.run_id, "muted")]
    if record is not None and record.kind == "tune":
        second.append(Span("  tuning of its kernels", "muted"))
    elif record is not None:
        second += [Span("  candidate ", "faint"), Span(run_subject(record), "muted")]
        second += [Span("  baseline ", "faint"), Span(record.baseline_kind, "muted")]
    device = _device_line(view)
    if width(second) + width(device) + 2 > cells:
        device = []
    return [spread(left, right, cells), spread(second, device, cells)]


def _device_line(view: RunView) -> Line:
    if view.device is None:
        return []
    device = view.device
    return [
        Span("clock ", "faint"),
        Span(fmt.frequency(device.cpu_freq_hz), "muted"),
        Span("  temperature ", "faint"),
        Span(fmt.with_word(fmt.temperature(device.temperature_c)), "muted"),
        Span("  load ", "faint"),
        Span(fmt.plain(device.load_1min) + " ", "muted"),
    ]


def steps_lines(snapshot: RunSnapshot, now_s: float, cells: int) -> list[Line]:
    """Return a heading and one line a step: glyph, name, word, time, progress or summary."""
    steps = snapshot.view.steps
    ended = snapshot.state not in ("running", "queued")
    states = [step.state for step in steps]
    count = f"{states.count('ok')} of {len(steps)} done"
    if ended and (missed := states.count("waiting")):
        count += f", {missed} not reached"
    alive = snapshot.state == "running"
    return [rule("Steps", cells, count), *(_step_line(step, alive, ended, now_s, cells) for step in steps)]


def _step_line(step: StepView, alive: bool, ended: bool, now_s: float, cells: int) -> Line:
    glyph, word, style = _STEP_MARKS["not reached" if ended and step.state == "waiting" else step.state]
    seconds = step.elapsed_s
    if step.state == "running" and not alive:
        glyph, word, style = "‖", "cut off", "warn"
    elif step.state == "running" and step.started_s is not None:
        seconds = max(now_s - step.started_s, 0.0)
    took = "" if seconds is None else fmt.elapsed(seconds)
    line: Line = [
        Span(f"{glyph} ", f"{style} bold"),
        Span(f"{step.name:<10}", "faint" if step.state == "waiting" else "text"),
        Span(f"{word:<8}", style),
        Span(f"{took:>7}  ", "muted"),
    ]
    room = cells - width(line)
    return fit([*line, *_step_rest(step, alive, room)], cells)


def _step_rest(step: StepView, alive: bool, room: int) -> Line:
    if step.state == "running" and step.total:
        count = f" {step.done}/{step.total}"
        if len(count) > room:
            count = f" {step.done * 100 // step.total} %"
        note = f" {step.note}" if step.note else ""
        bar_cells = min(room - len(count), 24)
        if bar_cells < 4:
            return [Span(count.strip(), "muted")]
        line = [*bar(step.done / step.total, bar_cells, "accent" if alive else "muted"), Span(count, "muted")]
        return [*line, Span(note, "faint")] if width(line) + len(note) <= room else line
    said = step.summary or step.note
    if step.state == "stopped" and step.total and not said:
        said = f"{step.done} of {step.total}"
    # Half a summary says little; the log has it whole.
    return [Span(said, "muted")] if 0 < len(said) <= room or room >= 30 else []


class _Numbers(NamedTuple):
    """The statistics of a run so far, or those of its verdict."""

    latency: Latency
    rcv: RobustVariation
    speedup: float | None
    bounds: tuple[float, float] | None
    quality: str


def _numbers(view: RunView) -> _Numbers | None:
    timing, result = view.timing, view.result
    if result is not None and result.speedup is not None:
        said = "no quality" if result.quality == "none" else f"quality {result.quality}"
        return _Numbers(result.latency_s, result.rcv, result.speedup, result.speedup_ci95, said)
    if timing is None:
        return None
    return _Numbers(
        Latency(timing.latency_candidate_s, timing.latency_baseline_s),
        RobustVariation(timing.rcv_candidate, timing.rcv_baseline, timing.rcv_speedup),
        timing.speedup,
        timing.speedup_ci95,
        "no quality yet" if timing.quality == "none" else f"quality {timing.quality}",
    )


def stats_lines(view: RunView, cells: int) -> list[Line]:
    """Return a heading and six lines of statistics; the verdict's numbers once there is one."""
    numbers = _numbers(view)
    if numbers is None:
        none = "No pair was timed." if view.result else "No pair is timed yet."
        return [rule("Statistics", cells), [Span(none, "faint")], *_memory(view)]
    latency, rcv = numbers.latency, numbers.rcv
    # An unstable run's ratio is only what was reached; it must not look like a result.
    counts = view.result is None or view.result.verdict == "ok"
    rows = (
        ("candidate", fmt.latency(latency.candidate), rcv.candidate, "candidate"),
        ("baseline", fmt.latency(latency.baseline), rcv.baseline, "baseline"),
        (
            "speed-up",
            fmt.measured_speedup(numbers.speedup, numbers.bounds),
            rcv.speedup,
            "text bold" if counts else "faint",
        ),
    )
    lines = [_stat(name, value, style, f"rCV {fmt.share(varied)}") for name, value, varied, style in rows]
    lines += [_stat("95 %", fmt.interval(numbers.bounds), "text", "of the median"), _pairs(view)]
    heading = rule("Statistics", cells, numbers.quality)
    return [heading, *(fit(line, cells) for line in (*lines, *_memory(view)))]


def _stat(name: str, value: str, style: str, rest: str) -> Line:
    return [Span(f"{name:<10}", "muted"), *pad([Span(value, style)], 15), Span(rest, "muted")]


def _pairs(view: RunView) -> Line:
    if view.timing is not None:
        timing = view.timing
        calls = f"{timing.calls_per_block} call{'s' if timing.calls_per_block != 1 else ''}/block"
        return _stat("pairs", f"{fmt.count(timing.pairs)} of {fmt.count(timing.max_pairs)}", "text", calls)
    return _stat("pairs", fmt.count(view.result.pairs if view.result else None), "text", "")


def _memory(view: RunView) -> list[Line]:
    result = view.result
    if result is None or (result.peak_memory_bytes is None and result.planned_memory_bytes is None):
        return []
    planned = f"plan {fmt.size(result.planned_memory_bytes)}"
    return [_stat("peak mem.", fmt.size(result.peak_memory_bytes), "text", planned)]


def latency_plot(view: RunView) -> Plot:
    """Return the plot of the two latency series."""
    series = view.candidate
    note = "C candidate  B baseline" + (f"  every {series.stride}th pair" if series.stride > 1 else "")
    if not view.whole_series:
        note += f"  only the last {fmt.count(series.seen)} of {fmt.count(view.pairs)} pairs"
    return Plot(
        title="Latency",
        curves=(
            Curve(view.candidate.values, "candidate", "C"),
            Curve(view.baseline.values, "baseline", "B"),
        ),
        label=fmt.latency,
        least_share=_LEAST_SHARE,
        note=note if view.candidate.values else "",
        empty="the series of this run is gone" if view.pairs else "latencies appear when pairs are timed",
    )


def _fine_speedup(ratio: float) -> str:
    return fmt.measured_speedup(ratio, (ratio, ratio))


def speedup_plot(view: RunView) -> Plot:
    """Return the plot of the paired speed-up with its median and 95 % band."""
    timing, result = view.timing, view.result
    level = timing.speedup if timing else None
    band = timing.speedup_ci95 if timing else None
    if result is not None and result.speedup is not None:
        level, band = result.speedup, result.speedup_ci95
    # The axis has the decimals of the median on it.
    fine = level is not None and fmt.measured_speedup(level, band) != fmt.speedup(level)
    return Plot(
        title="Speed-up",
        curves=(Curve(view.speedup.values, "info"),),
        label=_fine_speedup if fine else fmt.speedup,
        least_share=_LEAST_SHARE,
        note=f"median {fmt.measured_speedup(level, band)}, 95 % {fmt.interval(band)}"
        if level is not None
        else "",
        empty="baseline / candidate of each pair",
        band=band,
        level=level,
        reference=1.0,
    )
