"""`edgelab engines`: which comparator engines are here, and how they do against TVM on a task."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import aclosing

import click
import msgspec

from edgelab.bench.engines.comparison import PLAIN, Comparison
from edgelab.bench.engines.engine import Engine
from edgelab.bench.engines.registry import ENGINES, find_engine
from edgelab.bench.engines.result import EngineResult, exit_code
from edgelab.bench.phases import Emit
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.commands.context import Session, error_object, pass_session, reporting
from edgelab.commands.engine_wording import available_line, engine_result_text
from edgelab.commands.wording import Stream
from edgelab.errors import ExitCode, UsageError
from edgelab.events import EventBody, StoredEvent
from edgelab.lab import inventory
from edgelab.lab.connection import is_this_machine
from edgelab.runs.engine_comparison import compare_engines

SCHEMA = "edgelab.engines/1"


@click.command()
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@click.option("--engine", "names", multiple=True, metavar="NAME", help="Only this engine; may be repeated.")
@click.option(
    "--baseline",
    default=PLAIN,
    show_default=True,
    help="What each engine alternates with: plain or an engine.",
)
@click.option("--device", default="local", show_default=True, help="Engines run on this machine only.")
@click.option("--threads", type=click.IntRange(1), help="Threads of both sides (default: one a core).")
@click.option(
    "--max-time", "max_time_s", type=click.FloatRange(min=0.1), default=TimingPolicy().max_time_s,
    show_default=True, help="Longest timing of one engine on one task, in seconds.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def engines(
    session: Session,
    tasks: tuple[str, ...],
    names: tuple[str, ...],
    baseline: str,
    device: str,
    threads: int | None,
    max_time_s: float,
    as_json: bool,
) -> None:
    """List the comparator engines; with TASKs (names or files), measure each engine against TVM in pairs.

    Engines are checked against PyTorch's outputs before they are timed. Ctrl-c ends it; what was measured so
    far is kept. Exit status: 0 done, 1 an engine was wrong or broke, or a named one does not take the task,
    2 unknown task, engine or device, 3 no stable measurement or a named engine is not installed, 4 interrupted.
    """
    with reporting(session, as_json=as_json, schema=SCHEMA):
        chosen = tuple(find_engine(name) for name in dict.fromkeys(names))
        if not tasks:
            _show_available(chosen or ENGINES, as_json=as_json)
            return
        _only_this_machine(device, session)
        catalogue = Catalogue.load(catalogue_root())
        specs = [resolve(name, catalogue) for name in tasks]
        compared = None if baseline == PLAIN else find_engine(baseline)
        measured = chosen or tuple(engine for engine in ENGINES if engine != compared)
        results = _measure(
            session, specs, measured, Comparison(baseline=compared, threads=threads),
            TimingPolicy(max_time_s=max_time_s), as_json=as_json,
        )  # fmt: skip
        if as_json:
            click.echo(_object(measured, results))
        if status := exit_code(results, named=bool(chosen)):
            raise click.exceptions.Exit(int(status))


def _only_this_machine(device: str, session: Session) -> None:
    found = inventory.find(device, inventory.lab_devices(session.lab))
    if not is_this_machine(found):
        raise UsageError(
            f"Engines run on this machine only; {found.name} is another device.",
            advice="Leave --device out, or compare programs there with `edgelab run`.",
        )


def _show_available(shown: Sequence[Engine], *, as_json: bool) -> None:
    if as_json:
        click.echo(_object(shown, []))
        return
    for engine in shown:
        click.echo(available_line(engine))


def _object(shown: Sequence[Engine], results: list[EngineResult]) -> str:
    rows = [
        {"name": engine.name, "title": engine.title, **msgspec.to_builtins(engine.available())}
        for engine in shown
    ]
    report = {"schema": SCHEMA, "device": "local", "engines": rows, "results": results}
    return msgspec.json.encode(report).decode()


def _measure(
    session: Session,
    specs: Sequence[TaskSpec],
    chosen: Sequence[Engine],
    comparison: Comparison,
    policy: TimingPolicy,
    *,
    as_json: bool,
) -> list[EngineResult]:
    """Measure all, printing each verdict as soon as it is there. Ctrl-c and SIGTERM end it with status 4."""
    results: list[EngineResult] = []

    async def measure() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        comparing = compare_engines(session.home, specs, chosen, comparison, policy, _narrator())
        async with aclosing(comparing):
            async for result in comparing:
                results.append(result)
                if not as_json:
                    click.echo(engine_result_text(result))

    try:
        asyncio.run(measure())
    except (KeyboardInterrupt, asyncio.CancelledError):
        message = f"Interrupted; {len(results)} measurements are kept."
        if as_json:
            click.echo(error_object(SCHEMA, message, ""))
        click.echo(message, err=True)
        raise click.exceptions.Exit(int(ExitCode.INTERRUPTED)) from None
    return results


def _narrator() -> Emit:
    stream = Stream()

    def narrate(body: EventBody) -> None:
        line = stream.line(StoredEvent(id=0, run="", time_s=time.time(), body=body))  # type: ignore[arg-type]
        if line is not None:
            click.echo(line, err=True)

    return narrate
