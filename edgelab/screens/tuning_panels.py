"""The Runner's panels for a tuning: its kernels, what it cost so far, and how the search converges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.widgets.marks import bar
from edgelab.widgets.plot import Curve, Plot
from edgelab.widgets.spans import Line, Span, fit, pad, rule, wrap

if TYPE_CHECKING:
    from edgelab.screens.run_feed import RunSnapshot
    from edgelab.screens.tuning_view import KernelView, TuningView

_MARKS = {
    "waiting": ("·", "waiting", "faint"),
    "searched": ("●", "searched", "accent"),
    "tuned": ("✓", "tuned", "good"),
    "plain": ("=", "plain is best", "text"),
    "fallback": ("!", "plain, no space", "warn"),
    "failed": ("✗", "failed", "bad"),
}
_LEAST_SHARE = 0.02
_FARTHEST = 4.0
"""A default schedule that takes longer than so many times the curve is told as a number only."""

_NAME_CELLS = 26
_WIDE_CELLS = 72
_NUMBERS_CELLS = 21
"""Glyph, latency and gain, with the blanks between them."""


def kernel_lines(view: TuningView, cells: int, rows: int) -> list[Line]:
    """Return a heading and one line a kernel, those around the one that is searched where not all fit."""
    done = sum(kernel.state not in ("waiting", "searched") for kernel in view.kernels)
    lines = [rule("Kernels", cells, f"{done} of {len(view.kernels)} done")]
    kernels = list(view.kernels)
    room = max(rows - 1, 1)
    if len(kernels) > room:
        first = min(max(done - room // 2, 0), len(kernels) - room)
        kernels = kernels[first : first + room]
    return [*lines, *(_kernel_line(kernel, cells) for kernel in kernels)]


def _kernel_line(view: KernelView, cells: int) -> Line:
    glyph, word, style = _MARKS[view.state]
    wide = cells >= _WIDE_CELLS
    room = _NAME_CELLS if wide else max(cells - _NUMBERS_CELLS, 8)
    line: Line = [
        Span(f"{glyph} ", f"{style} bold"),
        *pad(fit([Span(view.kernel.name, "faint" if view.state == "waiting" else "text")], room), room + 1),
    ]
    searched = view.state == "searched"
    budget = view.kernel.budget
    if wide and searched:
        line += [*bar(min(view.trials / max(budget, 1), 1.0), 8, "accent")]
        line.append(Span(f" {view.trials:>4}/{budget:<4} ", "muted"))
    elif wide:
        line.append(Span(f"{word:<19}", style))
    gain = f"{view.trials}/{budget}" if searched and not wide else ""
    if not gain and view.state != "waiting":
        gain = _gain(view.kernel.plain_latency_s, view.latency_s)
    line.append(Span(f"{fmt.latency(view.latency_s):>9} {gain:>7}", "text" if view.best_s else "muted"))
    if wide and view.kernel.weight > 1:
        line.append(Span(f"  {view.kernel.weight} calls", "faint"))
    return fit(line, cells)


def _gain(plain_s: float | None, best_s: float | None) -> str:
    return fmt.speedup(plain_s / best_s) if plain_s and best_s else ""


def cost_lines(view: TuningView, cells: int) -> list[Line]:
    """Return a heading and what the tuning has reached and spent."""
    rate = f"{view.trials / view.spent_s:.2f} a second" if view.spent_s else ""
    plain_s = _plain_s(view)
    now_s = view.program_s[-1] if view.program_s else plain_s
    rows = (
        ("kernels", fmt.latency(now_s), f"{fmt.latency(plain_s)} plain"),
        ("speed-up", _gain(plain_s, now_s) or "unknown", "kernels alone"),
        ("trials", fmt.count(view.trials), rate),
        ("failed", fmt.count(view.failed), "of the trials"),
        ("building", fmt.elapsed(view.build_s), f"measuring {fmt.elapsed(view.measure_s)}"),
        ("searching", fmt.elapsed(view.generate_s), ""),
    )
    lines = [
        [Span(f"{name:<10}", "muted"), *pad([Span(value, "text")], 13), Span(rest, "faint")]
        for name, value, rest in rows
    ]
    return [rule("Tuning", cells, view.started.tvm_version), *(fit(line, cells) for line in lines)]


def _plain_s(view: TuningView) -> float | None:
    times = [kernel.kernel.plain_latency_s for kernel in view.kernels]
    if any(time_s is None for time_s in times):
        return None
    return sum(
        (time_s or 0.0) * kernel.kernel.weight for time_s, kernel in zip(times, view.kernels, strict=True)
    )


def convergence_plot(view: TuningView) -> Plot:
    """Return the best latency of the present kernel after each batch, against its default schedule."""
    kernel = view.current
    if kernel is None:
        return Plot("Convergence", (), fmt.latency, empty="the curve begins with the first batch of trials")
    note = f"{kernel.kernel.name}: best after {fmt.count(kernel.trials)} trials"
    if kernel.search:
        note += f", search {kernel.search + 1}"
    return Plot(
        title="Convergence",
        curves=(Curve(kernel.best_s, "candidate"),),
        label=fmt.latency,
        note=f"{note}, plain {fmt.latency(kernel.kernel.plain_latency_s)}",
        level=_level(kernel.kernel.plain_latency_s, kernel.best_s),
        least_share=_LEAST_SHARE,
        empty="nothing ran yet",
    )


def _level(plain_s: float | None, curve_s: tuple[float | None, ...]) -> float | None:
    """Return the line of the default schedule, None where the curve would be flat beside it."""
    known = [time_s for time_s in curve_s if time_s is not None]
    return plain_s if plain_s is not None and (not known or plain_s <= _FARTHEST * max(known)) else None


def program_plot(view: TuningView) -> Plot:
    """Return what all kernels take together after each batch."""
    return Plot(
        title="All kernels",
        curves=(Curve(view.program_s, "info"),),
        label=fmt.latency,
        note=f"plain {fmt.latency(_plain_s(view))}",
        level=_level(_plain_s(view), view.program_s),
        least_share=_LEAST_SHARE,
        empty="latency times calls of every kernel",
    )


def outcome_lines(snapshot: RunSnapshot, view: TuningView, cells: int) -> list[Line]:
    """Return how the tuning stands or ended, and what to do with it."""
    ended, task = view.ended, view.started.task
    if ended is not None:
        reached = _gain(ended.plain_latency_s, ended.tuned_latency_s)
        head = (
            f" ✓ TUNED  kernels {fmt.latency(ended.plain_latency_s)} plain, "
            f"{fmt.latency(ended.tuned_latency_s)} tuned ({reached or 'not known'}), "
            f"{fmt.count(ended.trials)} trials in {fmt.elapsed(ended.elapsed_s)}"
        )
        advice = f"Compare with it: edgelab run {task} --baseline tuned"
        styles = ("good bold", "muted")
    elif snapshot.state in ("interrupted", "lost", "done"):
        word = "FAILED" if snapshot.state == "done" else snapshot.state.upper()
        head = f" ‖ {word}  {fmt.count(view.trials)} trials are kept"
        advice = f"Go on with: edgelab tune {task} --device {view.started.device} --resume"
        styles = ("warn bold", "muted")
    else:
        current = view.current
        name = current.kernel.name if current is not None else "the first kernel"
        head = f" Searching schedules for {name}: {fmt.count(view.trials)} trials so far."
        advice = "s stops it; what was measured stays."
        styles = ("text", "muted")
    lines: list[Line] = []
    for text, style in zip((head, advice), styles, strict=True):
        lines += [[Span(line, style)] for line in wrap(text, cells - 2)]
    return [rule("Outcome", cells), *lines]
