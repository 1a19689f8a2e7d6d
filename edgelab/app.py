"""The Textual app: modes, keys, palette and the watched run. No logic of the lab lives here."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.worker import Worker, WorkerState

from edgelab.errors import EdgeLabError
from edgelab.screens.base import EdgeScreen
from edgelab.screens.lab import LabScreen
from edgelab.visible_text import visible, visible_block
from edgelab.widgets.bars import MODES
from edgelab.widgets.palette import DARK, LIGHT, VARIABLE_DEFAULTS, themes
from edgelab.widgets.spans import Line, Span

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from edgelab.bench.tasks import TaskSpec
    from edgelab.home import Home
    from edgelab.lab.device import Device
    from edgelab.screens.run_feed import RunFeed, RunSnapshot
    from edgelab.screens.sources import Sources

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")

READ_LIMIT_S = 15.0
"""Longest wait for the store; SQLite's own wait for a lock is shorter."""

WORK_LIMIT_S = 30.0
"""Longest wait for other blocking work: starting or stopping a run, reading the catalogue."""

TICK_S = 1 / 12.5
"""How often the watched run is read and painted while the Runner is on show."""

RETRY_S = 1.0
"""Pause before a store that could not be read is tried again."""

_PAUSED: Line = [Span("‖ view paused", "warn bold", "app.pause"), Span("  space goes on", "muted")]

_HIDDEN_TICKS = 6
_SETTLED_TICKS = 12


def _tasks() -> Screen[Any]:
    from edgelab.screens.tasks import TasksScreen

    return TasksScreen()


def _runner() -> Screen[Any]:
    from edgelab.screens.runner import RunnerScreen

    return RunnerScreen()


def _leka() -> Screen[Any]:
    from edgelab.screens.leka import LekaScreen

    return LekaScreen()


def _results() -> Screen[Any]:
    from edgelab.screens.results import ResultsScreen

    return ResultsScreen()


class EdgeLabApp(App[None]):
    """The control room. `watch` names a run to open in the Runner at once."""

    TITLE = "EdgeLab"
    CSS_PATH = "edgelab.tcss"
    DEFAULT_MODE = "lab"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "lab": LabScreen,
        "tasks": _tasks,
        "runner": _runner,
        "leka": _leka,
        "results": _results,
    }
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "go('lab')", "Lab", show=False),
        Binding("2", "go('tasks')", "Tasks", show=False),
        Binding("3", "go('runner')", "Runner", show=False),
        Binding("4", "go('leka')", "LEKA", show=False),
        Binding("5", "go('results')", "Results", show=False),
        Binding("space", "pause", "Pause the view", show=False),
        Binding("ctrl+s", "save_picture", "Screenshot", show=False, priority=True),
        Binding("t", "turn_theme", "Light or dark", show=False),
        Binding("q", "leave", "Quit", show=False),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
    ]

    paused: reactive[bool] = reactive(False)

    def __init__(self, sources: Sources, *, watch: str | None = None) -> None:
        super().__init__()
        for theme in themes():
            self.register_theme(theme)
        self.theme = DARK
        self.sources = sources
        self.feed: RunFeed | None = None
        self.snapshot: RunSnapshot | None = None
        self.device: Device | None = None
        self.brief: Line = []
        self.trouble = ""
        self._watch_at_start = watch
        self._before: list[str] = []
        # One thread for the store, whose reader belongs to one thread, and one for everything else.
        self._store_thread = ThreadPoolExecutor(1, thread_name_prefix="edgelab-store")
        self._work_thread = ThreadPoolExecutor(1, thread_name_prefix="edgelab-work")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our own colour variables for themes that lack them."""
        return VARIABLE_DEFAULTS

    def on_mount(self) -> None:
        """Start reading the watched run; the store is first opened after the first paint."""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._start_following()
        if self._watch_at_start is not None:
            self.watch_run(self._watch_at_start)

    def _start_following(self) -> None:
        self.run_worker(self._follow, group="follow", exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show an internal error while following a run, and go on following."""
        if event.worker.group == "follow" and event.state is WorkerState.ERROR:
            error = event.worker.error or RuntimeError("unknown")
            self._say(f"Internal error: {error!r}. The traceback is in {self.record_error(error)}.")
            self.set_timer(RETRY_S, self._start_following)

    async def on_unmount(self) -> None:
        """End the device monitor, and let the threads go; nothing they do needs to be waited for."""
        await self.sources.boards.close()
        self._store_thread.shutdown(wait=False, cancel_futures=True)
        self._work_thread.shutdown(wait=False, cancel_futures=True)

    async def read(
        self, call: Callable[_Params, _Result], *values: _Params.args, **named: _Params.kwargs
    ) -> _Result:
        """Run a store query in the store's thread. Raises TimeoutError after `READ_LIMIT_S`."""
        return await self._in(self._store_thread, READ_LIMIT_S, lambda: call(*values, **named))

    async def aside(
        self, call: Callable[_Params, _Result], *values: _Params.args, **named: _Params.kwargs
    ) -> _Result:
        """Run other blocking work off the event loop. Raises TimeoutError after `WORK_LIMIT_S`."""
        return await self._in(self._work_thread, WORK_LIMIT_S, lambda: call(*values, **named))

    async def _in(self, thread: ThreadPoolExecutor, limit_s: float, call: Callable[[], _Result]) -> _Result:
        # Not wait_for: in Python 3.11 it swallows a cancellation that meets the result.
        async with asyncio.timeout(limit_s):
            return await asyncio.get_running_loop().run_in_executor(thread, call)

    # The watched run

    def watch_run(self, run_id: str) -> None:
        """Open a run in the Runner."""
        self.open_run(run_id)
        self.action_go("runner")

    def open_run(self, run_id: str) -> None:
        """Make a run the watched one, without leaving the present screen."""
        from edgelab.screens.run_feed import RunFeed

        self.feed = RunFeed(self.sources, run_id)
        self.snapshot = None
        self._end_pause()

    async def _follow(self) -> None:
        if self.feed is None:
            await self._find_alive()
        tick = 0
        while True:
            tick += 1
            began_s = time.monotonic()
            if self.feed is not None and tick % self._every() == 0:
                await self._poll(self.feed)
            await asyncio.sleep(max(TICK_S - (time.monotonic() - began_s), 0.01))

    async def _find_alive(self) -> None:
        """Watch the newest run if it is under way, so that the navigation line tells of it on every screen."""

        def newest_alive() -> str | None:
            runs = self.sources.store.runs(1)
            alive = runs and self.sources.run_state(runs[0]) in ("running", "queued")
            return runs[0].id if alive else None

        try:
            run_id = await self.read(newest_alive)
        except (EdgeLabError, TimeoutError):
            # The screen that is opened next reads the store too, and says what is wrong with it.
            return
        if run_id is not None and self.feed is None:
            self.open_run(run_id)

    def _every(self) -> int:
        snapshot = self.snapshot
        if snapshot is None:
            return 1
        if snapshot.state not in ("running", "queued") and not snapshot.behind:
            return _SETTLED_TICKS
        return 1 if self.current_mode == "runner" else _HIDDEN_TICKS

    async def _poll(self, feed: RunFeed) -> None:
        try:
            snapshot = await self.read(feed.poll)
        except (EdgeLabError, TimeoutError) as error:
            self._say(str(error) or "The store did not answer in time; trying again.")
            await asyncio.sleep(RETRY_S)
            return
        if feed is not self.feed:
            return
        before, self.snapshot = self.snapshot, snapshot
        self._say("")
        self._announce(before, snapshot)
        if not self.paused or before is None:
            # What was never shown cannot be held still.
            self._paint(snapshot)

    def _paint(self, snapshot: RunSnapshot) -> None:
        self.paint_brief()
        if (screen := self._shown_screen()) is not None:
            screen.show_snapshot(snapshot)

    def _shown_screen(self) -> EdgeScreen | None:
        """The screen on show, None while there is none that can be painted; each catches up when it arrives."""
        screen = self.screen if self.is_running else None
        return screen if isinstance(screen, EdgeScreen) and screen.can_paint else None

    def paint_brief(self) -> None:
        """Show the watched run, or nothing, in the navigation line."""
        from edgelab.screens.run_words import brief

        self.set_brief(brief(self.snapshot) if self.snapshot is not None else [])

    def set_brief(self, line: Line) -> None:
        """Show the watched run in the navigation line, or that the view is paused."""
        line = _PAUSED if self.paused else line
        if line != self.brief:
            self.brief = line
            if (screen := self._shown_screen()) is not None:
                screen.show_brief(line)

    def _announce(self, before: RunSnapshot | None, now: RunSnapshot) -> None:
        """Say the end of a run to someone who looks at another screen."""
        from edgelab.screens.run_words import ended_words

        was_running = before is not None and before.state in ("running", "queued")
        if was_running and now.state not in ("running", "queued") and self.current_mode != "runner":
            good = now.view.result is not None and now.view.result.verdict == "ok"
            self.notify(ended_words(now), severity="information" if good else "warning")

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notification as plain text: messages may quote candidates, task files and exceptions."""
        super().notify(
            visible_block(message), title=visible(title), severity=severity, timeout=timeout, markup=False
        )

    def _say(self, text: str) -> None:
        self.trouble = text
        if (screen := self._shown_screen()) is not None:
            screen.say(text, about="follow")

    # Starting, stopping, resuming

    async def chosen_device(self) -> Device:
        """Return the device that runs go to. Raises `EdgeLabError` when the lab cannot be read."""
        if self.device is None:
            self.device = (await self.aside(self.sources.devices))[0]
        return self.device

    async def launch(self, task: TaskSpec, candidate: Path | None = None) -> None:
        """Start a run of `task`, or of a candidate file for it, on the chosen device and watch it."""
        device = await self.chosen_device()
        self.watch_run(await self.aside(self.sources.launch, task, device, candidate))

    async def run_again(self, run_id: str) -> None:
        """Start a new run of what an earlier one ran, its candidate file read anew, and watch it."""
        self.watch_run(await self.aside(self.sources.again, run_id))

    # Actions

    def action_go(self, mode: str) -> None:
        """Switch to a screen."""
        if mode != self.current_mode:
            self._before = [*self._before[-9:], self.current_mode]
            self._end_pause()
            self.switch_mode(mode)

    def go_back(self) -> None:
        """Return to the screen before."""
        if self._before:
            self._end_pause()
            self.switch_mode(self._before.pop())

    def action_pause(self) -> None:
        """Hold the present view still until it is left; the intake goes on."""
        self.paused = not self.paused
        if self.paused:
            self.set_brief(_PAUSED)
        elif self.snapshot is not None:
            self._paint(self.snapshot)
        else:
            self.paint_brief()

    def _end_pause(self) -> None:
        """Another screen or run is shown as it is: what was never on show cannot be held still."""
        if self.paused:
            self.paused = False
            self.paint_brief()

    def action_turn_theme(self) -> None:
        """Change between our light and dark theme."""
        self.theme = LIGHT if self.theme == DARK else DARK

    def action_save_picture(self) -> None:
        """Save the screen as SVG and say where."""
        folder = self.sources.screenshots
        name = time.strftime("edgelab-%Y%m%d-%H%M%S.svg", time.localtime(self.sources.now_s()))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.save_screenshot(name, str(folder))
        except OSError as error:
            self.notify(f"The screenshot could not be saved: {error}.", severity="error")
            return
        # The name has a line of its own: a path too long for the notice would break within it.
        self.notify(f"{name}\nin {folder}", title="Screenshot saved")

    def action_leave(self) -> None:
        """Quit, saying that a run under way goes on."""
        snapshot = self.snapshot
        if snapshot is not None and snapshot.state in ("running", "queued"):
            again = f"edgelab runs attach {snapshot.run_id}"
            self.exit(message=f"Run {snapshot.run_id} goes on without the app.\nWatch it again: {again}")
        else:
            self.exit()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Return the commands of the palette, which takes their texts for markup."""
        for command in self._commands(screen):
            yield command._replace(help=command.help.replace("[", r"\["))

    def _commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for key, mode, title in MODES:
            yield SystemCommand(f"Go to {title}", f"Key {key}", lambda mode=mode: self.action_go(mode))
        yield SystemCommand("Pause the view", "Space; the intake goes on", self.action_pause)
        yield SystemCommand("Light or dark", "Key t", self.action_turn_theme)
        yield SystemCommand("Save a screenshot", "Ctrl+s, as SVG", self.action_save_picture)
        if isinstance(screen, EdgeScreen):
            yield SystemCommand("Filter", "Key /", screen.action_filter)
            yield SystemCommand("Copy", "Key y", screen.action_copy)
            yield SystemCommand("Keys of this screen", "Key ?", screen.action_help)
            yield from screen.commands()
        yield SystemCommand("Theme", "Choose among all themes", self.action_change_theme)
        yield SystemCommand("Quit", "Key q; runs go on", self.action_leave)

    def record_error(self, error: BaseException) -> Path:
        """Write a traceback to the app's log; returns the file."""
        path = self.sources.log_file
        # A full disk must not turn an error that was caught into a crash of the app.
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(time.strftime("%Y-%m-%d %H:%M:%S\n"))
                log.writelines(traceback.format_exception(error))
        return path


def run_app(home: Home, lab_file: Path | None = None, *, watch: str | None = None) -> int:
    """Run the app on the data folder `home` until the operator quits; returns the exit status."""
    from edgelab.screens.live_sources import LiveSources

    app = EdgeLabApp(LiveSources(home, lab_file), watch=watch)
    app.run()
    return app.return_code or 0
