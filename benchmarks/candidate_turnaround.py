"""How many candidates a minute does a warm run process judge, against a fresh Python process each?

Goal: at least 10 times more. Both judge the same edited candidates of a small kernel with the same
pairs and calls a block, in one run of this script, interleaved; the fresh process also finds the
reference on the disk. The warm process builds as many candidates at once as there are cores (two at
most) and measures them one after the other. `lean` is the fresh process with torch kept out of TVM's import.

    python benchmarks/candidate_turnaround.py [--batches 8] [--task layernorm_deit]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from edgelab.bench.artefacts import Artefact
from edgelab.bench.evaluation import Evaluation, EvaluationRequest
from edgelab.bench.reference import RECHECK_SEED, TIMING_SEED, VERIFICATION_SEEDS, ReferenceBundle, prepare
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root, resolve
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.local import LocalTransport
from edgelab.events import EventBody

GOAL = 10.0
PAIRS = 40
_CORES = min(2, os.cpu_count() or 1)
_LEAN = (
    "import sys; sys.modules['torch'] = None; import runpy; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def _ignore(_: EventBody) -> None:
    """The benchmark reads verdicts only."""


def _policy() -> TimingPolicy:
    return TimingPolicy(min_pairs=PAIRS, max_pairs=PAIRS, warm_up_s=0.0, session_s=10.0)


class Comparison:
    """The candidates of one task, judged warm and fresh."""

    def __init__(self, task: TaskSpec, home: Path, bundle: ReferenceBundle) -> None:
        self._task = task
        self._home = home
        self._bundle = bundle
        self._program = bundle.program_path.read_text()
        self._baseline: Artefact | None = None
        self._calls = 1

    def candidate(self, name: str) -> str:
        """Return a text of its own with the task's meaning."""
        return self._program.replace("gv", f"gv_{name}")

    async def warm(self, services: Services, names: Sequence[str]) -> float:
        """Judge a batch of candidates in the warm services; return the seconds each took on average.

        A batch is built at once, as many as there are cores; the device measures one after the other.
        """
        begin_s = time.monotonic()
        evaluations = [Evaluation(self._request(name), services, _ignore) for name in names]
        prepared = await asyncio.gather(*(evaluation.build() for evaluation in evaluations))
        for evaluation, built in zip(evaluations, prepared, strict=True):
            found = await evaluation.measure(built)
            self._baseline = found.baseline
            self._calls = found.series.calls_per_block
        return (time.monotonic() - begin_s) / len(names)

    def _request(self, name: str) -> EvaluationRequest:
        return EvaluationRequest(
            task=self._task,
            secret=b"benchmark",
            candidate_text=self.candidate(name),
            policy=_policy(),
            cache=self._home / "cache",
        )

    def fresh(self, name: str, *, lean: bool) -> float:
        """Judge one candidate in a fresh process; return the seconds it took."""
        assert self._baseline is not None
        path = self._home / f"{name}.py"
        path.write_text(self.candidate(name))
        script = str(Path(__file__).with_name("fresh_candidate.py"))
        start = [sys.executable, "-c", _LEAN, script] if lean else [sys.executable, script]
        arguments = [
            str(path),
            str(self._baseline.path),
            str(self._bundle.folder),
            str(PAIRS),
            str(self._calls),
        ]
        begin_s = time.monotonic()
        subprocess.run([*start, *arguments], check=True, capture_output=True)
        return time.monotonic() - begin_s


async def compare(task: TaskSpec, count: int, home: Path) -> tuple[float, float, float]:
    """Return the median seconds a candidate takes: warm, fresh, fresh and lean."""
    seeds = (*VERIFICATION_SEEDS, TIMING_SEED, RECHECK_SEED)
    bundle = await prepare(task, home / "cache", seeds=seeds)
    comparison = Comparison(task, home, bundle)
    warm_s, fresh_s, lean_s = [], [], []
    async with Services(LocalTransport(home / "device"), home / "cache", _ignore) as services:
        await comparison.warm(services, ["first"])
        for number in range(count):
            warm_s.append(await comparison.warm(services, [f"w{number}_{core}" for core in range(_CORES)]))
            if number % 2 == 0:
                fresh_s.append(await asyncio.to_thread(comparison.fresh, f"f{number}", lean=False))
                lean_s.append(await asyncio.to_thread(comparison.fresh, f"l{number}", lean=True))
    return statistics.median(warm_s), statistics.median(fresh_s), statistics.median(lean_s)


def main() -> int:
    """Print candidates a minute and their ratio; status 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--task", default="layernorm_deit")
    arguments = parser.parse_args()
    spec = resolve(arguments.task, Catalogue.load(catalogue_root()))
    with tempfile.TemporaryDirectory() as folder:
        warm_s, fresh_s, lean_s = asyncio.run(compare(spec, arguments.batches, Path(folder)))
    for name, spent_s in (
        ("warm run process", warm_s),
        ("fresh process", fresh_s),
        ("fresh, torch kept out", lean_s),
    ):
        ratio = f"{spent_s / warm_s:.1f} times the warm one's time"
        print(f"{name:<22} {spent_s:.3f} s a candidate, {60 / spent_s:6.1f} a minute, {ratio}")
    passed = fresh_s / warm_s >= GOAL
    print(f"goal: ratio >= {GOAL:g} over a fresh process: {'PASS' if passed else 'MISS'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
