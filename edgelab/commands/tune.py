"""`edgelab tune`: search schedules for the kernels of tasks; the result is the `tuned` baseline."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from edgelab.bench.baseline.budget import BudgetTable, read_table, write_table
from edgelab.bench.baseline.calibration import CALIBRATION_TASKS, calibrations_of, table_lines
from edgelab.bench.baseline.stopping import StopRule
from edgelab.bench.baseline.tune import TunedTask, TuneRequest
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.commands.context import Session, error_object, pass_session, reporting
from edgelab.errors import ExitCode, NotReadyError, UsageError
from edgelab.events import EventBody, KernelTuned, LogLine, TuningEnded, TuningProgress, TuningStarted
from edgelab.home import Home
from edgelab.lab import inventory
from edgelab.lab.device import Device
from edgelab.narration import narrate
from edgelab.visible_text import visible

_SCHEMA = "edgelab.tune/1"
_CALIBRATION_TRIALS = 1024
_TOLD = (TuningStarted, TuningProgress, KernelTuned, TuningEnded)


class Trials(click.ParamType):
    """A number of trials from 1, or `auto` (None): the calibrated budget."""

    name = "trials"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What --help shows."""
        return "N|auto"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Raises BadParameter for anything else."""
        if value is None or value == "auto":
            return "auto"
        if not str(value).isdecimal() or int(str(value)) < 1:
            self.fail(f"{value!r} is neither a number of trials nor auto.", param, ctx)
        return int(str(value))


@click.command()
@click.argument("tasks", nargs=-1, metavar="TASK...")
@click.option("--device", default="local", show_default=True, help="A device of the lab.")
@click.option(
    "--backend",
    type=click.Choice(["llvm", "cuda", "opencl"]),
    help="What to tune for (default: the device's own backend).",
)
@click.option("--trials", type=Trials(), default="auto", show_default=True, help="Budget of every kernel.")
@click.option(
    "--seed", type=click.IntRange(1, 2**31 - 1), default=1, show_default=True, help="Of the first search."
)
@click.option("--resume", is_flag=True, help="Go on from what is stored instead of starting anew.")
@click.option("--calibrate", is_flag=True, help="Measure T_conv of TASK... and write the table of budgets.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object an event, and one at the end.")
@pass_session
def tune(
    session: Session,
    tasks: tuple[str, ...],
    device: str,
    backend: str | None,
    trials: int | str,
    seed: int,
    resume: bool,
    calibrate: bool,
    as_json: bool,
) -> None:
    """Tune every kernel of TASK... with MetaSchedule, for `edgelab run --baseline tuned`.

    Prints a line a batch. Ctrl-c stops it; what was measured stays, and --resume goes on from there. Exit
    status: 0 tuned, 1 a task failed, 2 unknown task or device, 3 the device could not measure, 4 interrupted.
    """
    with reporting(session, as_json=as_json, schema=_SCHEMA):
        if not tasks and not calibrate:
            raise UsageError("Nothing to tune.", advice="Name a task: edgelab tasks list.")
        catalogue = Catalogue.load(catalogue_root())
        specs = [resolve(task, catalogue) for task in tasks or CALIBRATION_TASKS]
        found = inventory.find(device, inventory.lab_devices(session.lab))
        target = _prepare(session.home, found, backend or found.backend)
        table = _table(session.home)
        rule = StopRule(restarts=0) if calibrate else StopRule()
        budget = _CALIBRATION_TRIALS if calibrate and trials == "auto" else trials
        requests = [
            _request(spec, found, session.home, table, rule, budget, seed=seed, resume=resume, target=target)
            for spec in specs
        ]
        tuned = _run(session.home, found, backend or found.backend, requests, as_json)
        if calibrate:
            table = _calibrated(session.home, found, tuned, table, as_json)
        if as_json:
            click.echo(_object(found, tuned, table if calibrate else None))


def _prepare(home: Home, device: Device, backend: str) -> dict[str, Any] | None:
    """Make the home and return the target that programs for the device are built for."""
    from edgelab.runs.build_target import build_target

    if backend != "llvm":
        raise NotReadyError(
            f"{device.name} needs schedules for {backend}, which cannot be searched yet.",
            advice="Tune it for its processor with --backend llvm, or compare with --baseline plain.",
        )
    target = build_target(device, backend)
    try:
        home.ensure()
    except OSError as error:
        raise NotReadyError(
            f"The data folder {home.root} cannot be written: {error.strerror}.",
            advice="Choose another folder with --home.",
        ) from error
    return target


def _own_table(home: Home) -> Path:
    return home.root / "budgets.json"


def _table(home: Home) -> BudgetTable:
    """This home's table where it was calibrated, else the one that is shipped."""
    own = _own_table(home)
    return read_table(own) if own.exists() else read_table()


def _request(
    spec: TaskSpec,
    device: Device,
    home: Home,
    table: BudgetTable,
    rule: StopRule,
    trials: int | str,
    *,
    seed: int,
    resume: bool,
    target: dict[str, Any] | None,
) -> TuneRequest:
    from edgelab.runs.tuning import profile_key

    return TuneRequest(
        task=spec,
        device=device.name,
        profile=profile_key(device),
        target=target,
        cache=home.cache,
        seed=seed,
        trials=trials if isinstance(trials, int) else None,
        budgets=table,
        rule=rule,
        resume=resume,
    )


def _run(
    home: Home, device: Device, backend: str, requests: list[TuneRequest], as_json: bool
) -> list[TunedTask]:
    from edgelab.runs import tuning

    async def work() -> list[TunedTask]:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await tuning.tune(home, device, requests, backend, lambda body: _show(body, as_json))

    try:
        return asyncio.run(work())
    except asyncio.CancelledError:
        names = " ".join(request.task.name for request in requests)
        message, advice = "The tuning was interrupted; what was measured is kept.", "Go on with: edgelab tune"
        advice = f"{advice} {names} --device {device.name} --resume"
        if as_json:
            click.echo(error_object(_SCHEMA, message, advice))
        click.echo(f"{message} {advice}", err=True)
        raise click.exceptions.Exit(int(ExitCode.INTERRUPTED)) from None


def _show(body: EventBody, as_json: bool) -> None:
    told = isinstance(body, _TOLD)
    if as_json and told:
        click.echo(msgspec.json.encode(body).decode())
        return
    if isinstance(body, LogLine):
        if body.level in ("warning", "error"):
            click.echo(visible(body.text), err=True)
        return
    line = narrate(body)  # type: ignore[arg-type]
    if line is not None:
        click.echo(visible(line[2]), err=not told)


def _calibrated(
    home: Home, device: Device, tuned: Sequence[TunedTask], before: BudgetTable, as_json: bool
) -> BudgetTable:
    from edgelab.bench.baseline.budget import table_of

    found, left_out = calibrations_of("llvm", tuned)
    for kernel in left_out:
        click.echo(
            f"{kernel.task}: {kernel.name} did not converge in {kernel.trials} trials; it is left out.",
            err=True,
        )
    if not found:
        raise NotReadyError(
            "No kernel converged, so there is nothing to set budgets by.",
            advice="Give more trials: --trials N.",
        )
    table = table_of(found, before)
    write_table(_own_table(home), table)
    if not as_json:
        for line in table_lines(table):
            click.echo(line)
    return table


def _object(device: Device, tuned: Sequence[TunedTask], table: BudgetTable | None) -> str:
    tasks = [
        {
            "task": task.task,
            "kernels": [
                {
                    "name": kernel.name,
                    "digest": kernel.digest,
                    "class": kernel.search_class,
                    "weight": kernel.weight,
                    "state": kernel.state,
                    "trials": kernel.trials,
                    "failed": kernel.failed,
                    "converged_at": kernel.converged_at,
                    "latency_s": {"plain": kernel.plain_latency_s, "tuned": kernel.tuned_latency_s},
                    "error": kernel.error,
                }
                for kernel in task.kernels
            ],
        }
        for task in tuned
    ]
    said: dict[str, object] = {
        "schema": _SCHEMA,
        "device": device.name,
        "simulated": device.simulated,
        "tasks": tasks,
    }
    if table is not None:
        said["budgets"] = table.budgets
    return msgspec.json.encode(said).decode()
