"""Screen 3: one run, live or past."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from edgelab.screens.base import EdgeScreen
from edgelab.screens.run_view import EMPTY
from edgelab.screens.runner_panels import (
    header_lines,
    latency_plot,
    speedup_plot,
    stats_lines,
    steps_lines,
)
from edgelab.screens.tuning_panels import (
    convergence_plot,
    cost_lines,
    kernel_lines,
    outcome_lines,
    program_plot,
)
from edgelab.screens.verdict import verdict_lines
from edgelab.widgets.bars import Hint
from edgelab.widgets.lines import LinesPanel
from edgelab.widgets.log_view import LogView
from edgelab.widgets.plot import SeriesPlot
from edgelab.widgets.spans import Line, Span, text_of

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from edgelab.screens.run_feed import RunSnapshot
    from edgelab.screens.tuning_view import TuningView
    from edgelab.widgets.query import Query

_PANEL_S = 0.24
"""Panels of numbers and plots are painted about four times a second; nobody reads faster."""

_NO_RUN = (
    "No run to show yet.",
    "",
    "2 shows the tasks: Enter there runs one on the chosen device.",
    "5 shows past results: Enter there opens the run.",
)


def _milestone(snapshot: RunSnapshot) -> tuple[object, ...]:
    """What must be seen at once: another state, a verdict, a step that began or ended."""
    view = snapshot.view
    steps = tuple(step.state for step in view.steps)
    tuning = view.tuning
    kernels = tuple(kernel.state for kernel in tuning.kernels) if tuning is not None else ()
    return snapshot.state, view.result, view.interrupted, steps, kernels


class SnapshotPanel(LinesPanel):
    """A panel of the Runner; `lay_out` is a function of the snapshot, the time and the size."""

    def __init__(self, screen: RunnerScreen, part: str) -> None:
        super().__init__(id=part)
        self._runner = screen
        self._part = part

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return this part of the snapshot as lines."""
        snapshot = self._runner.snapshot
        if snapshot is None:
            return []
        now_s = self._runner.lab_app.sources.now_s()
        if self._part == "run-header":
            return header_lines(snapshot, now_s, cells)
        if snapshot.view.tuning is not None:
            return self._of_tuning(snapshot, snapshot.view.tuning, cells, rows)
        if self._part == "steps":
            return steps_lines(snapshot, now_s, cells)
        if self._part == "statistics":
            return stats_lines(snapshot.view, cells)
        return verdict_lines(snapshot, cells, rows)

    def _of_tuning(self, snapshot: RunSnapshot, view: TuningView, cells: int, rows: int) -> list[Line]:
        if self._part == "steps":
            return kernel_lines(view, cells, rows)
        return cost_lines(view, cells) if self._part == "statistics" else outcome_lines(snapshot, view, cells)


class NoRun(LinesPanel):
    """Shown while there is no run to watch."""

    def lines(self, cells: int, rows: int) -> list[Line]:
        """Return what to do, in the upper third."""
        return [[]] * max(rows // 3 - 2, 0) + [
            [Span(text.center(cells).rstrip(), "muted")] for text in _NO_RUN
        ]


class RunnerScreen(EdgeScreen):
    """Steps, statistics, plots, verdict and log of the watched run."""

    MODE = "runner"
    AUTO_FOCUS = "LogView"
    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("s", "stop", "screen.stop"),
        Hint("r", "run again", "screen.again"),
        Hint("R", "resume", "screen.resume"),
        Hint("p", "runs", "screen.pick"),
        Hint("m", "log only", "screen.enlarge"),
        Hint("/", "filter log", "screen.filter"),
        Hint("space", "pause", "app.pause"),
        Hint("y", "copy", "screen.copy"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", "Stop", show=False),
        Binding("r", "again", "Run again", show=False),
        Binding("R", "resume", "Resume", show=False),
        Binding("p", "pick", "Choose a run", show=False),
        Binding("m", "enlarge", "Log only", show=False),
        Binding("left_square_bracket", "other(1)", "Older run", show=False),
        Binding("right_square_bracket", "other(-1)", "Newer run", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.snapshot: RunSnapshot | None = None
        self._painted_s = 0.0

    def compose_body(self) -> ComposeResult:
        """All panels have fixed places, so that nothing jumps while a run goes on."""
        yield NoRun(id="no-run")
        yield SnapshotPanel(self, "run-header")
        with Horizontal(id="facts"):
            yield SnapshotPanel(self, "steps")
            yield SnapshotPanel(self, "statistics")
        with Horizontal(id="plots"):
            yield SeriesPlot(latency_plot(EMPTY), id="latency")
            yield SeriesPlot(speedup_plot(EMPTY), id="speedup")
        yield SnapshotPanel(self, "verdict")
        yield LogView(id="log")

    def arrive(self) -> None:
        """Show the watched run; without one, open the newest."""
        snapshot = self.lab_app.snapshot
        if snapshot is not None and not self.lab_app.paused:
            self.show_snapshot(snapshot)
        elif self.lab_app.feed is None:
            self.start(self._open_newest, "open")
        self.set_class(self.snapshot is None, "-no-run")

    async def _open_newest(self) -> None:
        app = self.lab_app
        runs = await app.read(app.sources.store.runs, 1)
        if runs and app.feed is None:
            app.open_run(runs[0].id)

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Paint what changed: the log at once, numbers and plots about four times a second."""
        before, self.snapshot = self.snapshot, snapshot
        log = self.query_one(LogView)
        other = before is None or before.run_id != snapshot.run_id
        if other:
            log.reset()
            self.set_class(False, "-no-run")
        log.show(snapshot.view.log, skipped=snapshot.view.log_skipped)
        turned = other or before is None or _milestone(before) != _milestone(snapshot)
        now_s = time.monotonic()
        if turned or now_s - self._painted_s >= _PANEL_S:
            self._painted_s = now_s
            self._paint_panels(snapshot)

    def _paint_panels(self, snapshot: RunSnapshot) -> None:
        ended = snapshot.state not in ("running", "queued")
        # A run that failed before timing has nothing to plot: its message gets the room.
        view = snapshot.view
        self.set_class(ended and view.pairs == 0 and view.tuning is None, "-no-timing")
        for panel in self.query(SnapshotPanel):
            panel.refresh_lines()
        plots = latency_plot(view), speedup_plot(view)
        if view.tuning is not None:
            plots = convergence_plot(view.tuning), program_plot(view.tuning)
        for name, plot in zip(("#latency", "#speedup"), plots, strict=True):
            self.query_one(name, SeriesPlot).show(plot)

    def apply_filter(self, query: Query) -> None:
        """Filter the log."""
        self.query_one(LogView).filter(query)

    def action_enlarge(self) -> None:
        """Give the log the whole screen, or give the room back."""
        self.toggle_class("-log-only")

    def action_back(self) -> None:
        """Give the room back first."""
        if self.has_class("-log-only"):
            self.remove_class("-log-only")
        else:
            super().action_back()

    def action_stop(self) -> None:
        """Ask, then stop the run."""
        from edgelab.screens.dialogs import ConfirmDialog

        snapshot = self.snapshot
        if snapshot is None or snapshot.state not in ("running", "queued"):
            self.notify("This run is not under way.", timeout=3)
            return
        question = f"Stop run {snapshot.run_id}? What it has recorded stays, and R resumes it later."

        def answered(yes: bool | None) -> None:
            if yes:
                self.start(lambda: self._stop(snapshot.run_id), "stop")

        self.app.push_screen(ConfirmDialog(question, "Stop the run", "Let it go on"), answered)

    async def _stop(self, run_id: str) -> None:
        self.say(f"Stopping run {run_id}…", "info", about="stop")
        await self.lab_app.aside(self.lab_app.sources.stop, run_id)

    def action_again(self) -> None:
        """Run the same task and candidate file again, as a new run; the file is read anew."""
        snapshot = self.snapshot
        if snapshot is None:
            self.notify("There is no run to run again.", timeout=3)
        elif snapshot.state in ("running", "queued"):
            self.notify("This run is still under way: s stops it.", timeout=3)
        elif snapshot.view.tuning is not None:
            self.notify("A tuning is started on the command line: edgelab tune.", timeout=3)
        else:
            self.start(lambda: self.lab_app.run_again(snapshot.run_id), "launch")

    def action_resume(self) -> None:
        """Continue a run that was interrupted or lost."""
        snapshot = self.snapshot
        if snapshot is None or snapshot.state not in ("interrupted", "lost"):
            self.notify("Only a run that was interrupted or lost can be resumed.", timeout=3)
            return
        self.start(lambda: self._resume(snapshot.run_id), "resume")

    async def _resume(self, run_id: str) -> None:
        app = self.lab_app
        await app.aside(app.sources.resume, run_id)
        app.open_run(run_id)

    def action_pick(self) -> None:
        """Choose among the newest runs."""
        from edgelab.screens.dialogs import RunPicker

        def picked(run_id: str | None) -> None:
            if run_id is not None:
                self.lab_app.open_run(run_id)

        self.app.push_screen(RunPicker(), picked)

    def action_other(self, older: int) -> None:
        """Go to the next older (1) or newer (-1) run."""
        self.start(lambda: self._other(older), "open")

    async def _other(self, older: int) -> None:
        app = self.lab_app
        ids = [run.id for run in await app.read(app.sources.store.runs, 200)]
        feed = app.feed
        place = ids.index(feed.run_id) if feed is not None and feed.run_id in ids else -older
        if 0 <= place + older < len(ids):
            app.open_run(ids[place + older])
        else:
            self.notify("There is no older run." if older > 0 else "This is the newest run.", timeout=2)

    def commands(self) -> Iterable[SystemCommand]:
        """Return the commands of this screen."""
        yield SystemCommand("Stop the run", "Key s; asks first", self.action_stop)
        yield SystemCommand("Run this again", "Key r; the candidate file is read anew", self.action_again)
        yield SystemCommand("Resume the run", "Key R; when interrupted or lost", self.action_resume)
        yield SystemCommand("Choose a run", "Key p; [ and ] go to the older and newer", self.action_pick)
        yield SystemCommand("Log only", "Key m", self.action_enlarge)

    def copied_text(self) -> str:
        """Return header, verdict and the matching log as text."""
        if self.snapshot is None:
            return ""
        now_s = self.lab_app.sources.now_s()
        top = text_of([*header_lines(self.snapshot, now_s, 200), *verdict_lines(self.snapshot, 200, 100)])
        return f"{top}\n\n{self.query_one(LogView).text()}"
