"""Trials a second of EdgeLab's tuner against LocalBuilder and LocalRunner, and the schedules both end with.

    python benchmarks/tuning_throughput.py [--trials 256] [--seeds 3] [--task gemm_qkv_deit] [--rounds 15]

Same kernel (the one with the largest share of the task's time), same number of trials, same seeds, same cure for
the slow import, one after the other on an idle machine. Both final schedules are then measured side by side in
rounds. Wanted: at least four times the trials a second, and a final latency that is no worse.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from edgelab.bench.baseline.kernel_tuning import KernelTuning, SearchSettings
from edgelab.bench.baseline.measuring import CLOSE, KernelMeasuring
from edgelab.bench.baseline.stopping import StopRule
from edgelab.bench.baseline.tune import target_text
from edgelab.bench.reference import VERIFICATION_SEEDS, prepare
from edgelab.bench.services import Services
from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.drivers.local import LocalTransport
from edgelab.kernel.tuning.client import Tuner
from edgelab.kernel.tuning.protocol import (
    Bundle,
    Extracted,
    ExtractedKernel,
    ExtractRequest,
    SearchReply,
    SearchRequest,
    TunerEvent,
    TuningRecord,
)
from edgelab.store.tuned import TunedKernel, TunedStore

STOCK = Path(__file__).parent / "kernels" / "stock_tuning.py"


class Outcome(msgspec.Struct, frozen=True):
    """One tuning: seconds from the first candidate to the last, trials that ran, and the schedule it ends with."""

    elapsed_s: float
    measured: int
    trace: str

    @property
    def trials_per_s(self) -> float:
        """Trials that ran, a second."""
        return self.measured / self.elapsed_s


async def extract(task: str, tuner: Tuner, services: Services, folder: Path) -> Extracted:
    """The kernels of a task."""
    spec = resolve(task, Catalogue.load(catalogue_root()))
    bundle = await prepare(spec, folder / "cache", seeds=VERIFICATION_SEEDS)
    host = await (await services.builder()).host()
    return await tuner.extract(
        ExtractRequest(
            program_path=str(bundle.program_path),
            params_path=str(bundle.params_path),
            target=host.target,
            folder=str(folder),
        )
    )


async def heaviest(extracted: Extracted, measuring: KernelMeasuring) -> ExtractedKernel:
    """The kernel with the largest share of the time under default schedules."""
    shares: list[float] = []
    for index, kernel in enumerate(extracted.kernels):
        plain = extracted.plain
        alone = msgspec.structs.replace(plain, places=(plain.places[index],), errors=(plain.errors[index],))
        found = (await measuring.measure(alone, kernel.tensors, CLOSE))[0]
        shares.append(kernel.weight * (TuningRecord("", found.run_s).latency_s or 0.0))
    return extracted.kernels[shares.index(max(shares))]


async def ours(
    kernel: ExtractedKernel,
    target: dict,
    seed: int,
    trials: int,
    tuner: Tuner,
    measuring: KernelMeasuring,
    folder: Path,
) -> Outcome:
    """Tune with EdgeLab; the last measurement side by side, which the stock tuner has not, is not counted."""
    ends_s: list[float] = []
    row = TunedKernel(
        task="throughput",
        profile=str(seed),
        target=target_text(target),
        tvm_version=tuner.tvm_version,
        digest=kernel.digest,
        name=kernel.name,
        search_class=kernel.search_class,
        weight=1,
    )
    rule = StopRule(min_trials=trials + 1)
    settings = SearchSettings(target=target, seed=seed, rule=rule, workers=workers())
    with TunedStore(folder / f"{seed}.db", folder / "blobs") as store:
        began_s = time.monotonic()
        tuning = KernelTuning(
            kernel, row, trials, settings, store, folder, lambda body: ends_s.append(time.monotonic())
        )
        tuned = await tuning.run(tuner, measuring)
    return Outcome(ends_s[-1] - began_s, tuned.trials - tuned.failed, tuned.trace)


def workers() -> int:
    """Cores that both tuners use."""
    import os

    return len(os.sched_getaffinity(0))


async def stock(kernel: ExtractedKernel, target: dict, seed: int, trials: int, folder: Path) -> Outcome:
    """Tune with MetaSchedule's own builder and runner."""
    work = folder / f"stock-{seed}"
    work.mkdir()
    request = work / "request.json"
    described = {"module_path": kernel.module_path, "target": target, "seed": seed, "trials": trials}
    request.write_text(json.dumps({**described, "folder": str(work)}))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(STOCK),
        str(request),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    stdout, _ = await process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"the stock tuner ended with {process.returncode}")
    return msgspec.json.decode(stdout.splitlines()[-1], type=Outcome)


async def side_by_side(
    kernel: ExtractedKernel, target: dict, traces: tuple[str, ...], rounds: int, tuner: Tuner,
    measuring: KernelMeasuring, folder: Path,
) -> list[list[float]]:  # fmt: skip
    """Latencies in seconds of every trace, one list a round."""
    found: list[list[float]] = []

    async def answer(event: TunerEvent) -> SearchReply:
        if event.event == "finalists" and event.bundle is not None:
            found.extend([await _round(event.bundle, kernel, measuring, number) for number in range(rounds)])
        return SearchReply(stop=True, finalists=traces)

    request = SearchRequest(
        kernel=kernel, target=target, seed=1, max_trials=0, trials_per_batch=64, records_path=None,
        folder=str(folder), workers=workers(), build_limit_s=60.0, memory_limit_bytes=8 << 30,
    )  # fmt: skip
    await tuner.search(request, answer)
    return found


async def _round(
    bundle: Bundle, kernel: ExtractedKernel, measuring: KernelMeasuring, number: int
) -> list[float]:
    measured = await measuring.measure(bundle, kernel.tensors, CLOSE, backwards=number % 2 == 1)
    return [statistics.median(one.run_s) for one in measured]


async def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="gemm_qkv_deit")
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        transport = LocalTransport(folder / "device")
        async with Services(transport, folder / "cache", lambda body: None) as services, Tuner() as tuner:
            measuring = KernelMeasuring(services)
            extracted = await extract(options.task, tuner, services, folder)
            kernel, target = await heaviest(extracted, measuring), extracted.target
            print(f"{options.task}: {kernel.name} ({kernel.search_class}), {options.trials} trials a seed")
            speeds: list[float] = []
            for seed in range(1, options.seeds + 1):
                mine = await ours(kernel, target, seed, options.trials, tuner, measuring, folder)
                theirs = await stock(kernel, target, seed, options.trials, folder)
                traces = (mine.trace, theirs.trace)
                pairs = await side_by_side(kernel, target, traces, options.rounds, tuner, measuring, folder)
                speeds.append(mine.trials_per_s / theirs.trials_per_s)
                print(
                    f"seed {seed}: ours {mine.trials_per_s:.2f} trials/s, stock {theirs.trials_per_s:.2f} trials/s, "
                    f"ratio {speeds[-1]:.2f}; final latency ours {_us([row[0] for row in pairs])}, "
                    f"stock {_us([row[1] for row in pairs])}, "
                    f"stock/ours {statistics.median([row[1] / row[0] for row in pairs]):.3f}"
                )
            print(f"median ratio of trials/s: {statistics.median(speeds):.2f}")


def _us(latencies_s: list[float]) -> str:
    return f"{statistics.median(latencies_s) * 1e6:.1f} us"


if __name__ == "__main__":
    asyncio.run(main())
