"""The comparator of `candidate_turnaround.py`: judge one candidate in a fresh Python process.

Does what a script without EdgeLab does, with the reference already on the disk: import TVM, parse,
build, link, load, compare three seeds with the expected outputs, time the given number of pairs.

    python benchmarks/fresh_candidate.py CANDIDATE.py BASELINE.so BUNDLE_FOLDER PAIRS CALLS
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax as typed_relax

from edgelab.bench.reference import PARAMS_NAME, TIMING_SEED, VERIFICATION_SEEDS, expected_name, inputs_name

# TVM's annotations do not fit what it accepts.
relax: Any = typed_relax


def arrays(path: Path) -> list[np.ndarray]:
    """Return the arrays of a bundle file in order."""
    with np.load(path) as content:
        return [content[name] for name in sorted(content.files, key=lambda name: int(name.strip("inout")))]


def main(candidate: str, baseline: str, bundle: str, pairs: int, calls: int) -> None:
    """Judge `candidate` against `baseline` and print the median speed-up."""
    target = tvm.target.Target(
        {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "num-cores": 2}
    )
    module = tvm.script.from_source(Path(candidate).read_text())
    with np.load(Path(bundle, PARAMS_NAME)) as content:
        params = {name: tvm.runtime.tensor(content[name]) for name in content.files}
    if params:
        module = relax.transform.BindParams("main", params)(module)
    executable = relax.build(module, target, relax_pipeline=relax.get_default_pipeline(target))
    device = tvm.cpu(0)
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "candidate.so"))
        executable.export_library(library)
        programs = [
            relax.VirtualMachine(tvm.runtime.load_module(path), device)["main"]
            for path in (library, baseline)
        ]
    for seed in VERIFICATION_SEEDS:
        inputs = [tvm.runtime.tensor(array, device) for array in arrays(Path(bundle, inputs_name(seed)))]
        found = programs[0](*inputs)
        outputs = [found] if hasattr(found, "numpy") else list(found)
        for output, wanted in zip(outputs, arrays(Path(bundle, expected_name(seed))), strict=True):
            np.testing.assert_allclose(output.numpy(), wanted, rtol=1e-3, atol=1e-4)
    inputs = [tvm.runtime.tensor(array, device) for array in arrays(Path(bundle, inputs_name(TIMING_SEED)))]
    ratios = []
    for _ in range(pairs):
        spent = []
        for program in programs:
            begin = time.perf_counter()
            for _ in range(calls):
                program(*inputs)
            spent.append(time.perf_counter() - begin)
        ratios.append(spent[1] / spent[0])
    print(f"{np.median(ratios):.3f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
