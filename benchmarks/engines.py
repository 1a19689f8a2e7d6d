"""How does TVM's plain pipeline compare with PyTorch, torch.compile, ONNX Runtime and MNN on this machine?

One row a task: the latency of TVM plain, and for each engine how many times as fast TVM plain is, with the
95 % interval. `~` marks a measurement without quality (the machine was too noisy), a word the reason why
there is none. The numbers mean something on an otherwise idle machine only.

    python benchmarks/engines.py [TASK ...] [--count 6] [--engine NAME ...] [--threads N] [--max-time 30]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from edgelab.bench.engines.comparison import Comparison
from edgelab.bench.engines.engine import Engine
from edgelab.bench.engines.registry import ENGINES, find_engine
from edgelab.bench.engines.result import EngineResult
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.events import EventBody
from edgelab.home import Home
from edgelab.quantities import interval, latency, measured_speedup
from edgelab.runs.engine_comparison import compare_engines

_TASK_WIDTH = 28
_CELL_WIDTH = 24


def _ignore(_: EventBody) -> None:
    """The benchmark reads verdicts only."""


def spread(specs: Sequence[TaskSpec], count: int) -> list[TaskSpec]:
    """Return `count` tasks evenly from the suite's order, so that every level has some."""
    step = max(1, len(specs) // count)
    return list(specs[::step][:count])


def cell(result: EngineResult) -> str:
    """Return one engine's part of a row."""
    if result.baseline_speedup is None:
        return result.verdict
    mark = "" if result.verdict == "ok" else "~"
    bounds = result.baseline_speedup_ci95
    return f"{mark}{measured_speedup(result.baseline_speedup, bounds)} {interval(bounds)}"


def row(task: str, results: Sequence[EngineResult]) -> str:
    """Return the row of a task; TVM's latency is that beside the first engine that was timed."""
    plain_s = next((result.latency_s.baseline for result in results if result.latency_s.baseline), None)
    cells = "".join(f"{cell(result):>{_CELL_WIDTH}}" for result in results)
    return f"{task:<{_TASK_WIDTH}}{latency(plain_s):>12}{cells}"


async def measure(
    home: Home, tasks: Sequence[TaskSpec], engines: Sequence[Engine], threads: int | None, max_time_s: float
) -> list[EngineResult]:
    """Print a row as soon as its task is done; return all verdicts."""
    policy = TimingPolicy(max_time_s=max_time_s)
    comparing = compare_engines(home, tasks, engines, Comparison(threads=threads), policy, _ignore)
    results: list[EngineResult] = []
    async with aclosing(comparing):
        async for result in comparing:
            results.append(result)
            if len(results) % len(engines) == 0:
                print(row(result.task, results[-len(engines) :]), flush=True)
    return results


def main() -> int:
    """Print the table, the versions and the reasons; status 1 when an engine was wrong or broke."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--max-time", type=float, default=TimingPolicy().max_time_s)
    arguments = parser.parse_args()
    catalogue = Catalogue.load(catalogue_root())
    named = [resolve(name, catalogue) for name in arguments.tasks]
    tasks = named or spread(catalogue.specs, arguments.count)
    engines = [find_engine(name) for name in arguments.engine] or list(ENGINES)
    for engine in engines:
        found = engine.available()
        print(f"{engine.name}: {found.version or f'absent, {found.reason}'}")
    header = "".join(f"{engine.name:>{_CELL_WIDTH}}" for engine in engines)
    print(f"\n{'TVM plain against':<{_TASK_WIDTH}}{'TVM plain':>12}{header}")
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        results = asyncio.run(measure(home, tasks, engines, arguments.threads, arguments.max_time))
    for result in results:
        if result.reason:
            print(f"{result.task}, {result.engine}: {result.reason}")
    return int(any(result.verdict in ("wrong", "failed") for result in results))


if __name__ == "__main__":
    sys.exit(main())
