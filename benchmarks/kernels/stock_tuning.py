"""MetaSchedule as it comes: LocalBuilder, LocalRunner and the task scheduler, with the cure for the slow import.

`python benchmarks/kernels/stock_tuning.py REQUEST.json` takes {module_path, target, seed, trials, folder} and
prints {elapsed_s, measured, trace, latency_s} of the best schedule as JSON. Started by tuning_throughput.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from edgelab.kernel import without_torch  # noqa: F401 - comes before whatever imports tvm
from edgelab.kernel.tuning import fast_intrinsics


def build(module: Any, target: Any, _params: Any) -> Any:
    """What LocalBuilder does by default, with the cure around the import of TVM's intrinsics."""
    from edgelab.kernel.tuning import fast_intrinsics

    fast_intrinsics.load()
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build

    return default_build(module, target, _params)


def main(request_path: str) -> None:
    """Tune one kernel and print what came of it."""
    request = json.loads(Path(request_path).read_text())
    fast_intrinsics.load()
    import numpy as np
    import tvm
    from tvm.s_tir import meta_schedule
    from tvm.s_tir.meta_schedule.builder import LocalBuilder
    from tvm.s_tir.meta_schedule.database import MemoryDatabase
    from tvm.s_tir.meta_schedule.runner import LocalRunner

    from edgelab.kernel.tuning.search import trace_text

    module: Any = tvm.ir.load_json(Path(request["module_path"]).read_text())
    target = tvm.target.Target(request["target"])
    workers = len(os.sched_getaffinity(0))
    database = MemoryDatabase()
    began_s = time.monotonic()
    np.random.seed(request["seed"])
    context = meta_schedule.TuneContext(
        module,
        target=target,
        space_generator="post-order-apply",
        search_strategy="evolutionary",
        task_name="kernel",
        rand_state=request["seed"],
        num_threads=workers,
    )
    meta_schedule.tune.tune_tasks(
        tasks=[context],
        task_weights=[1.0],
        work_dir=request["folder"],
        max_trials_global=request["trials"],
        builder=LocalBuilder(max_workers=workers, f_build=build),  # type: ignore[arg-type]
        runner=LocalRunner(),  # type: ignore[arg-type]
        database=database,
    )
    elapsed_s = time.monotonic() - began_s
    everything: list[Any] = database.get_all_tuning_records()
    records = [record for record in everything if float(record.run_secs[0]) < 1e9]
    best = min(records, key=lambda record: float(np.mean([float(value) for value in record.run_secs])))
    answer = {
        "elapsed_s": elapsed_s,
        "measured": len(records),
        "trace": trace_text(best.trace),
        "latency_s": float(best.run_secs[0]),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
