"""Screen 2: the catalogue of tasks; a run starts here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Container

from edgelab.errors import EdgeLabError
from edgelab.screens.base import EdgeScreen
from edgelab.screens.device_line import DeviceLine
from edgelab.screens.task_detail import COLUMNS, best_by_task, task_lines, task_rows
from edgelab.widgets.bars import FilterBar, Hint
from edgelab.widgets.lines import LinesView
from edgelab.widgets.spans import Line, Span
from edgelab.widgets.table import RowTable

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult

    from edgelab.bench.tasks import TaskSpec
    from edgelab.store.records import MeasurementRecord
    from edgelab.widgets.query import Query


class TasksScreen(EdgeScreen):
    """List and detail. Enter runs the task under the cursor on the chosen device."""

    MODE = "tasks"
    HINTS: ClassVar[Sequence[Hint]] = (
        Hint("enter", "run", "screen.run"),
        Hint("c", "candidate", "screen.candidate"),
        Hint("d", "device", "screen.device"),
        Hint("/", "filter", "screen.filter"),
        Hint("s", "sort", "screen.sort"),
        Hint("tab", "detail", "app.focus_next"),
        Hint("y", "copy source", "screen.copy"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "run", "Run", show=False),
        Binding("c", "candidate", "Run a candidate file", show=False),
        Binding("d", "device", "Choose the device", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, TaskSpec] = {}
        self._sources: dict[str, str] = {}
        self._best: dict[str, MeasurementRecord] = {}
        self._candidates: dict[str, Path] = {}

    def compose_body(self) -> ComposeResult:
        """The list and the detail, beside or below."""
        yield DeviceLine()
        with Container(id="split"):
            yield RowTable(COLUMNS, id="tasks", empty="reading the catalogue…")
            yield LinesView(id="detail")

    def arrive(self) -> None:
        """Read the catalogue once, the best measurements each time."""
        self.start(self._load, "load")
        self.start(self._show_device, "device")

    async def _show_device(self) -> None:
        self.query_one(DeviceLine).show(await self.lab_app.chosen_device())

    async def _load(self) -> None:
        app = self.lab_app
        table = self.query_one(RowTable)
        if not self._tasks:
            self._tasks = {task.name: task for task in await app.aside(app.sources.tasks)}
            table.empty = "the catalogue is empty"
            table.set_rows(task_rows(list(self._tasks.values()), {}))
        self._best = best_by_task(await app.read(app.sources.store.measurements, 5000))
        table.set_rows(task_rows(list(self._tasks.values()), self._best))
        self._show_detail(table.key, keep_scroll=True)

    @on(RowTable.Highlighted)
    def _highlighted(self, event: RowTable.Highlighted) -> None:
        self._show_detail(event.key)

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.action_run()

    @on(LinesView.Resized)
    def _resized(self) -> None:
        self._show_detail(self.query_one(RowTable).key, keep_scroll=True)

    def _show_detail(self, key: str | None, *, keep_scroll: bool = False) -> None:
        task = self._tasks.get(key or "")
        if task is None:
            self.query_one("#detail", LinesView).set_lines([])
        elif task.name in self._sources:
            self._show_task(task, keep_scroll)
        else:
            self.start(lambda: self._read_source(task), "source")

    async def _read_source(self, task: TaskSpec) -> None:
        try:
            source = await self.lab_app.aside(task.source)
        except EdgeLabError as error:
            source = f"# {error}"
        self._sources[task.name] = source
        if self.query_one(RowTable).key == task.name:
            self._show_task(task, False)

    def _show_task(self, task: TaskSpec, keep_scroll: bool) -> None:
        view = self.query_one("#detail", LinesView)
        now_s = self.lab_app.sources.now_s()
        lines: list[Line] = task_lines(
            task, self._best.get(task.name), self._sources[task.name], now_s, view.cells
        )
        view.set_lines(lines, keep_scroll=keep_scroll)

    def apply_filter(self, query: Query) -> None:
        """Filter the list while typing."""
        self.query_one(RowTable).filter(query)
        self._count()

    def _count(self) -> None:
        table = self.query_one(RowTable)
        if table.shown != table.total:
            self.lab_app.set_brief([Span(f"{table.shown} of {table.total} tasks", "muted")])
        else:
            self.lab_app.paint_brief()

    def action_run(self) -> None:
        """Start a run of the task under the cursor and show it in the Runner."""
        task = self._tasks.get(self.query_one(RowTable).key or "")
        if task is not None:
            self.start(lambda: self.lab_app.launch(task), "launch")

    def action_candidate(self) -> None:
        """Ask for a candidate file, run it on the task under the cursor and show it in the Runner."""
        from edgelab.screens.candidate_dialog import CandidateDialog

        task = self._tasks.get(self.query_one(RowTable).key or "")
        if task is None:
            return

        def named(path: Path | None) -> None:
            if path is not None:
                self._candidates[task.name] = path
                self.start(lambda: self.lab_app.launch(task, path), "launch")

        before = self._candidates.get(task.name)
        self.app.push_screen(CandidateDialog(task.name, str(before or "")), named)

    def action_device(self) -> None:
        """Choose the device that runs go to."""
        self.start(self._choose_device, "device")

    async def _choose_device(self) -> None:
        from edgelab.screens.device_picker import DevicePicker

        app = self.lab_app
        devices = await app.aside(app.sources.devices)
        now = await app.chosen_device()

        def picked(name: str | None) -> None:
            for device in devices:
                if device.name == name:
                    app.device = device
                    self.query_one(DeviceLine).show(device)

        app.push_screen(DevicePicker(devices, now.name), picked)

    def action_back(self) -> None:
        """Leave the filter. The catalogue is no place one comes back from: esc once too often does nothing."""
        if self.query_one(FilterBar).display:
            super().action_back()

    def action_sort(self) -> None:
        """Sort by the next column (for the mouse)."""
        self.query_one(RowTable).action_sort_next()

    def commands(self) -> Iterable[SystemCommand]:
        """Return the commands of this screen."""
        yield SystemCommand("Run this task", "Enter; on the chosen device", self.action_run)
        yield SystemCommand("Run a candidate file", "Key c; asks for its path", self.action_candidate)
        yield SystemCommand("Choose the device", "Key d; where runs go", self.action_device)

    def copied_text(self) -> str:
        """Return the reference source of the task under the cursor."""
        return self._sources.get(self.query_one(RowTable).key or "", "")
