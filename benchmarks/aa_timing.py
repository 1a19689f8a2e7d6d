"""Does paired timing find no difference where there is none?

The same program is candidate and baseline. Goal: a speed-up within 1 +- 0.01 in 10 of 10 runs with a
quality of at least `paired`, for a kernel of about 50 us, one of about 4 ms and one of about 100 ms.

    python benchmarks/aa_timing.py [--runs 10] [--only 50us]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from edgelab.bench.evaluation import Evaluation, EvaluationRequest
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.drivers.local import LocalTransport
from edgelab.events import EventBody

KERNELS = {
    "50us": "layernorm_deit",
    "4ms": "ad_autoencoder",
    "100ms": str(Path(__file__).parent / "kernels" / "mlp_long.py"),
}
_TOLERANCE = 0.01


def _ignore(_: EventBody) -> None:
    """The benchmark reads verdicts only."""


async def measure(task: str, runs: int, home: Path) -> int:
    """Evaluate `task` against itself `runs` times; print each and return how many hold."""
    spec = resolve(task, Catalogue.load(catalogue_root()))
    held = 0
    async with Services(LocalTransport(home / "device"), home / "cache", _ignore) as services:
        for number in range(runs):
            request = EvaluationRequest(task=spec, secret=b"benchmark", cache=home / "cache")
            found = await Evaluation(request, services, _ignore).run()
            statistics = found.series.statistics
            low, high = statistics.speedup_ci95
            holds = abs(statistics.speedup - 1) <= _TOLERANCE and statistics.quality != "none"
            held += holds
            print(
                f"  {number + 1:2}: {statistics.latency_candidate_s * 1e6:10.1f} us  speed-up "
                f"{statistics.speedup:.4f} [{low:.4f}, {high:.4f}]  rCV {statistics.rcv_candidate:.3f} "
                f"{statistics.rcv_baseline:.3f} {statistics.rcv_speedup:.3f}  {statistics.pairs} pairs of "
                f"{found.series.calls_per_block}, {statistics.quality}, {'holds' if holds else 'FAILS'}",
                flush=True,
            )
    return held


def main() -> int:
    """Print all runs and how many hold; status 1 when not all do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", choices=sorted(KERNELS))
    arguments = parser.parse_args()
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        for name, task in KERNELS.items():
            if arguments.only in (None, name):
                print(f"{name}: {Path(task).stem} against itself")
                held = asyncio.run(measure(task, arguments.runs, Path(folder)))
                passed &= held == arguments.runs
                print(f"{name}: {held} of {arguments.runs} within 1 +- {_TOLERANCE} at quality >= paired")
    print("PASS" if passed else "MISS")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
