"""What does each task of the catalogue give on a backend of this machine: is it right, and how well can it be timed?

Every task is judged against itself (A/A): built, verified against PyTorch on three seeds, timed in pairs, verified
again. A speed-up other than 1 is the timing's error. With several backends each task runs on all of them, so that
all that are right agree with the same PyTorch outputs within the task's tolerance.

    python benchmarks/all_tasks.py [--backend llvm opencl cuda] [--tasks NAME ...] [--level 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from edgelab.bench.evaluation import Evaluation, EvaluationRequest
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.local import LocalTransport
from edgelab.errors import EdgeLabError
from edgelab.events import EventBody, SeedVerified
from edgelab.lab.inventory import this_machine
from edgelab.quantities import latency, size
from edgelab.runs.build_target import build_target


class Row(msgspec.Struct, kw_only=True):
    """One task on one backend; None where nothing was measured."""

    task: str
    backend: str
    failure: str = ""
    detail: str = ""
    latency_s: float | None = None
    speedup: float | None = None
    speedup_ci95: tuple[float, float] | None = None
    quality: str = ""
    rcv: tuple[float, float, float] | None = None
    pairs: int | None = None
    peak_memory_bytes: int | None = None
    worst_share_of_tolerance: float | None = None
    wall_s: float = 0.0


class Worst:
    """The largest error of all seeds, as a share of what is tolerated there."""

    def __init__(self) -> None:
        self.share: float | None = None

    def __call__(self, body: EventBody) -> None:
        """Take an event."""
        if isinstance(body, SeedVerified) and body.max_abs_error is not None and body.tolerated:
            self.share = max(self.share or 0.0, body.max_abs_error / body.tolerated)


async def judge(task: TaskSpec, backend: str, services: Services, cache: Path, seconds: float) -> Row:
    """Evaluate a task against itself."""
    worst = Worst()
    begin_s = time.monotonic()
    request = EvaluationRequest(
        task=task,
        secret=b"benchmark",
        cache=cache,
        backend=backend,
        target=build_target(this_machine(), backend),
        policy=TimingPolicy(max_time_s=seconds),
    )
    row = Row(task=task.name, backend=backend)
    try:
        found = await Evaluation(request, services, worst).run()
    except EdgeLabError as error:
        row.failure = f"{getattr(error, 'failure_class', 'refused')}: {error.message}"
        row.detail = str(getattr(error, "detail", ""))[-4000:]
    else:
        statistics = found.series.statistics
        row.latency_s = statistics.latency_candidate_s
        row.speedup, row.speedup_ci95 = statistics.speedup, statistics.speedup_ci95
        row.quality, row.pairs = statistics.quality, statistics.pairs
        row.rcv = (statistics.rcv_candidate, statistics.rcv_baseline, statistics.rcv_speedup)
        row.peak_memory_bytes = found.peak_memory_bytes
    row.worst_share_of_tolerance = worst.share
    row.wall_s = time.monotonic() - begin_s
    return row


def line(row: Row) -> str:
    """Return a row as text."""
    head = f"{row.task:<28} {row.backend:<7}"
    if row.failure:
        return f"{head} FAILED  {row.failure[:150]}"
    assert row.latency_s is not None
    assert row.speedup is not None
    assert row.speedup_ci95 is not None
    assert row.rcv is not None
    low, high = row.speedup_ci95
    share = "" if row.worst_share_of_tolerance is None else f"{row.worst_share_of_tolerance:7.2%}"
    memory = size(row.peak_memory_bytes)
    return (
        f"{head} {latency(row.latency_s):>10}  A/A {row.speedup:.4f} [{low:.4f}, {high:.4f}]  "
        f"rCV {row.rcv[0]:6.2%} {row.rcv[1]:6.2%} {row.rcv[2]:6.2%}  {row.pairs:>5} pairs  {row.quality:<6}  "
        f"{memory:>10}  worst error {share} of tolerance  {row.wall_s:5.1f} s"
    )


def summary(rows: list[Row], backend: str) -> str:
    """Return what all tasks of a backend amount to."""
    mine = [row for row in rows if row.backend == backend]
    right = [row for row in mine if not row.failure]
    errors = [abs(math.log(row.speedup)) for row in right if row.speedup]
    within = sum(error <= math.log(1.01) for error in errors)
    qualities = {name: sum(row.quality == name for row in right) for name in ("strict", "paired", "none")}
    worst = f"{math.exp(max(errors)) - 1:.2%}" if errors else "unknown"
    return (
        f"{backend}: {len(right)} of {len(mine)} right; A/A error at most {worst}, within 1 % in {within} of "
        f"{len(right)}; quality strict {qualities['strict']}, paired {qualities['paired']}, none {qualities['none']}"
    )


async def run(arguments: argparse.Namespace, home: Path) -> list[Row]:
    """Judge the chosen tasks on the chosen backends, task by task."""
    tasks = [
        task
        for task in Catalogue.load(catalogue_root()).specs
        if (not arguments.tasks or task.name in arguments.tasks)
        and (arguments.level is None or task.level == arguments.level)
    ]
    rows = []
    async with Services(LocalTransport(home / "device"), home / "cache", lambda _: None) as services:
        for task in tasks:
            for backend in arguments.backend:
                row = await judge(task, backend, services, home / "cache", arguments.seconds)
                rows.append(row)
                print(line(row), flush=True)
    return rows


def main() -> int:
    """Print a line a task and backend; status 1 when one of them is wrong or cannot be built."""
    parser = argparse.ArgumentParser(description="Judge the catalogue's tasks on this machine.")
    parser.add_argument("--backend", nargs="+", choices=["llvm", "opencl", "cuda"], default=["llvm"])
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--level", type=int)
    parser.add_argument("--seconds", type=float, default=TimingPolicy().max_time_s, help="cap of one timing")
    parser.add_argument("--json", type=Path, help="write the rows there as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(run(arguments, Path(folder)))
    for backend in arguments.backend:
        print(summary(rows, backend))
    if arguments.json is not None:
        arguments.json.write_bytes(msgspec.json.encode(rows))
    return int(any(row.failure for row in rows))


if __name__ == "__main__":
    sys.exit(main())
