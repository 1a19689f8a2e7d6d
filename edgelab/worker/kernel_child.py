"""One plain kernel in a program child: loads a library, calls its function with random inputs, times it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.random  # numpy loads it late, when this process can no longer open files

_PATTERN_ELEMENTS = 1 << 18
_LONGEST_BLOCK_CALLS = 1 << 20


def measure(
    artefact_fd: int, job: dict[str, Any], reported: Callable[[str], Any], start: Callable[[], str]
) -> dict[str, Any]:
    """Load the library behind `artefact_fd` and time its function.

    `job` has function, tensors ([[shape, dtype]], inputs and outputs in the order of the arguments), seed,
    block_s, blocks, and single_s: a kernel whose first warm call takes longer than that is not called again.
    `reported` is a context that turns the runtime's errors into failures; `start` starts the thread pool and
    closes the sandbox. Returns latencies_s (a call, one entry a block), calls (in a block) and elapsed_s.
    """
    import tvm_ffi

    loader = tvm_ffi.get_global_func("ffi.Module.load_from_file.so")
    with reported("could not be loaded"):
        # By descriptor: the folder of blobs is closed to this process.
        module = loader(f"/proc/self/fd/{artefact_fd}", "so")
        function = module[job["function"]]
    os.close(artefact_fd)
    start()
    with reported("has no room for its tensors"):
        arguments = random_tensors(job["tensors"], job["seed"])
    with reported("failed while it was timed"):
        begin_s = time.perf_counter()
        function(*arguments)
        latencies_s, calls = _blocks(
            lambda calls: _block_s(function, arguments, calls), job["block_s"], job["blocks"], job["single_s"]
        )
    elapsed_s = time.perf_counter() - begin_s
    return {"latencies_s": latencies_s, "calls": calls, "elapsed_s": elapsed_s}


def _blocks(
    block_s: Callable[[int], float], wanted_s: float, blocks: int, single_s: float
) -> tuple[list[float], int]:
    """Latencies of `blocks` blocks of about `wanted_s` seconds, each of as many calls as that takes.

    `block_s(calls)` runs a block and returns its seconds. The first block is a single call; where it takes
    longer than `single_s`, it is all there is.
    """
    first_s = block_s(1)
    if first_s >= single_s:
        return [first_s], 1
    calls = _calls_for(wanted_s, first_s)
    if calls > 1:
        # One call is too short to tell its own length: the rest of the pipeline is warm only now.
        calls = _calls_for(wanted_s, block_s(min(calls, 8)) / min(calls, 8))
    return [block_s(calls) / calls for _ in range(blocks)], calls


def _calls_for(wanted_s: float, call_s: float) -> int:
    return max(1, min(_LONGEST_BLOCK_CALLS, math.ceil(wanted_s / max(call_s, 1e-7))))


def _block_s(function: Any, arguments: list[Any], calls: int) -> float:
    begin_ns = time.perf_counter_ns()
    for _ in range(calls):
        function(*arguments)
    return (time.perf_counter_ns() - begin_ns) / 1e9


def random_tensors(specs: list[list[Any]], seed: int) -> list[Any]:
    """A tensor for each [shape, dtype].

    Floating values lie between 0.5 and 1.5: no subnormal number and no zero makes a kernel slower or
    faster than usual. Whole numbers are 0 or 1, which is in the range of any index.
    """
    from tvm.runtime import tensor

    generator = np.random.default_rng(seed)
    tensors = []
    for shape, dtype in specs:
        size = math.prod(shape)
        pattern = generator.random(min(size, _PATTERN_ELEMENTS), dtype=np.float32)
        kind = np.dtype(dtype).kind
        values = pattern + np.float32(0.5) if kind == "f" else pattern.round()
        tensors.append(tensor(np.resize(values.astype(dtype), size).reshape(shape)))
    return tensors
