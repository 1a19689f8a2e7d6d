"""How much of an evaluation is neither building, nor verifying, nor timing?

Goal: at most 15 % for the L1 tasks in a warm run process. Each task is judged once so that its reference lies on the
disk, and then again with a text that differs in a name, as a search does. The share is 1 - work / wall, where work is
what the build child says of its phases, and the steps verify, time and recheck. How much of the step `time` lies
outside of the timed and warm-up calls (both programs are loaded anew for each of its sessions) is shown beside it.

    python benchmarks/evaluation_overhead.py [--level 1] [--tasks NAME ...]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from edgelab.bench.evaluation import Evaluation, EvaluationRequest
from edgelab.bench.reference import VERIFICATION_SEEDS, prepare
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root
from edgelab.drivers.local import LocalTransport

GOAL = 0.15
_WORK = ("verify", "time", "recheck")


class Share(msgspec.Struct, frozen=True):
    """One evaluation in seconds."""

    task: str
    wall_s: float
    build_s: float
    steps_s: dict[str, float]
    calls_s: float

    @property
    def overhead(self) -> float:
        """Part of the wall time that is no work."""
        work_s = self.build_s + sum(self.steps_s.get(step, 0.0) for step in _WORK)
        return max(0.0, 1 - work_s / self.wall_s)


async def measure(task: TaskSpec, services: Services, cache: Path) -> Share:
    """Judge a renamed copy of the task's own import in warm services."""
    bundle = await prepare(task, cache, seeds=VERIFICATION_SEEDS)
    text = bundle.program_path.read_text()
    await Evaluation(
        EvaluationRequest(task=task, secret=b"benchmark", cache=cache), services, lambda _: None
    ).run()
    request = EvaluationRequest(
        task=task, secret=b"benchmark", cache=cache, candidate_text=text.replace("gv", "gv_again")
    )
    evaluation = Evaluation(request, services, lambda _: None)
    begin_s = time.monotonic()
    found = await evaluation.run()
    wall_s = time.monotonic() - begin_s
    series = found.series
    timed_s = series.calls_per_block * (sum(series.candidate_s) + sum(series.baseline_s))
    return Share(
        task=task.name,
        wall_s=wall_s,
        build_s=0.0 if found.candidate.cached else sum(found.candidate.reply.phase_s.values()),
        steps_s=dict(evaluation.clock.phase_s),
        calls_s=timed_s,
    )


async def run(tasks: list[TaskSpec], home: Path) -> list[Share]:
    """Measure the tasks one after the other."""
    shares = []
    async with Services(LocalTransport(home / "device"), home / "cache", lambda _: None) as services:
        for task in tasks:
            share = await measure(task, services, home / "cache")
            shares.append(share)
            steps = "  ".join(f"{name} {seconds:6.3f}" for name, seconds in share.steps_s.items())
            print(
                f"{task.name:<28} wall {share.wall_s:6.2f} s  build child {share.build_s:5.2f}  {steps}  "
                f"timed calls {share.calls_s:5.2f}  overhead {share.overhead:6.2%}",
                flush=True,
            )
    return shares


def main() -> int:
    """Print a line a task, and the median and the worst share; status 1 when the median misses the goal."""
    parser = argparse.ArgumentParser(description="Measure the overhead of evaluations.")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--tasks", nargs="*", default=[])
    arguments = parser.parse_args()
    tasks = [
        task
        for task in Catalogue.load(catalogue_root()).specs
        if (task.name in arguments.tasks if arguments.tasks else task.level == arguments.level)
    ]
    with tempfile.TemporaryDirectory() as folder:
        shares = asyncio.run(run(tasks, Path(folder)))
    overheads = [share.overhead for share in shares]
    whole_s = sum(share.wall_s for share in shares)
    together = sum(share.overhead * share.wall_s for share in shares) / whole_s
    met = together <= GOAL
    print(
        f"overhead: {together:.2%} of all wall time, median {statistics.median(overheads):.2%}, "
        f"worst {max(overheads):.2%} of {len(shares)} tasks; goal {GOAL:.0%}: {'PASS' if met else 'MISS'}"
    )
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
