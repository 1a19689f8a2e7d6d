"""Child process that makes a reference bundle: reads one request line, answers with event lines.

It runs the task's file, which may print: the protocol has a descriptor of its own, and everything else that is
written to standard output goes to standard error.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import torch

from edgelab.bench import hidden_cases
from edgelab.bench.error_model_child import (
    SeedResult,
    computed,
    measure,
    reduction_length,
    wide_form,
)
from edgelab.bench.hidden_cases_child import make_cases
from edgelab.bench.least_work_child import least_work
from edgelab.bench.parent_watch import end_with_parent
from edgelab.bench.reference import (
    ANNOUNCED_SEEDS,
    META_NAME,
    PARAMS_NAME,
    PROGRAM_NAME,
    BundleMeta,
    expected_name,
    inputs_name,
)
from edgelab.bench.reference_process import ChildDone, ChildError, ChildEvent, ChildLog, ChildRequest, Twin
from edgelab.bench.structural_inputs import near_twin
from edgelab.bench.task_model_child import TaskModel
from edgelab.errors import EdgeLabError, TaskError
from edgelab.kernel.import_errors import ExportError, UnsupportedOperator
from edgelab.kernel.program import TensorSpec

_Say = Callable[[ChildEvent], None]


def make_bundle(request: ChildRequest, say: _Say) -> None:
    """Fill the request's folder. Raises TaskError and its kinds, and OSError when the disk does not allow it."""
    begun_s = time.monotonic()
    folder = Path(request.folder)
    loaded = TaskModel(request.task, Path(request.path), request.source)
    wide_model = wide_form(loaded) if request.program or request.hidden is not None else None
    results: dict[int, SeedResult] = {}
    for seed in dict.fromkeys((*request.seeds, *(ANNOUNCED_SEEDS if request.program else ()))):
        results[seed] = result = _compute(loaded, seed, request.twin, wide_model)
        if seed in request.seeds:
            _save(folder / inputs_name(seed), "in", result.inputs)
            _save(folder / expected_name(seed), "out", result.outputs.tensors)
            # Seeds may be secret, and what is said here is kept with the run: they are counted, not named.
            ready = sum(wanted in results for wanted in request.seeds)
            say(ChildLog(f"PyTorch reference {ready} of {len(request.seeds)} is ready"))
    _check_specs(request.task, list(results.values()))
    problems = dict.fromkeys(result.wide_problem for result in results.values() if result.wide_problem)
    for problem in problems:
        say(ChildLog(f"the tolerance rests on rounding alone: {problem}"))
    if request.program:
        announced = [results[seed] for seed in ANNOUNCED_SEEDS]
        _write_program(request, loaded, announced, begun_s, say)
    if request.hidden is not None:
        _write_hidden(folder, loaded, request.hidden, wide_model, say)


def _compute(
    loaded: TaskModel, seed: int, twin: Twin | None, wide_model: torch.nn.Module | None
) -> SeedResult:
    if twin is None or seed != twin.seed:
        # What is said of a secret seed is kept with the run.
        name = f"seed {seed}" if seed in ANNOUNCED_SEEDS else "secret inputs"
        return computed(loaded, loaded.draw_inputs(seed), wide_model, name)
    original, other = (
        [value.numpy() for value in loaded.draw_inputs(drawn)] for drawn in (twin.original, twin.other)
    )
    inputs = near_twin(original, other, np.random.default_rng(seed))
    # Its seed is secret.
    return computed(loaded, tuple(map(torch.from_numpy, inputs)), wide_model, "the twin of the timed inputs")


def _write_hidden(
    folder: Path, loaded: TaskModel, seed: int, wide_model: torch.nn.Module | None, say: _Say
) -> None:
    made, left_out = make_cases(loaded, seed, wide_model, reduction_length(loaded, loaded.draw_inputs(seed)))
    for case in made:
        structure = case.case.structure
        _save(folder / hidden_cases.inputs_name(seed, structure), "in", case.inputs)
        _save(folder / hidden_cases.expected_name(seed, structure), "out", case.outputs)
    found = hidden_cases.HiddenCases(tuple(case.case for case in made), tuple(left_out))
    (folder / hidden_cases.index_name(seed)).write_bytes(msgspec.json.encode(found))
    said = "; ".join(f"without {left.structure}: {left.reason}" for left in left_out)
    say(ChildLog(f"hidden cases: {len(made)}" + (f" ({said})" if said else "")))


def _save(path: Path, prefix: str, tensors: Sequence[torch.Tensor]) -> None:
    arrays = {f"{prefix}{index}": tensor.numpy() for index, tensor in enumerate(tensors)}
    np.savez(path, allow_pickle=False, **arrays)


def _specs(prefix: str, tensors: Sequence[torch.Tensor]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(f"{prefix}{index}", tuple(tensor.shape), str(tensor.numpy().dtype))
        for index, tensor in enumerate(tensors)
    )


def _check_specs(task: str, results: Sequence[SeedResult]) -> None:
    for what, prefix in (("inputs", "in"), ("outputs", "out")):
        kinds = {
            _specs(prefix, result.inputs if prefix == "in" else result.outputs.tensors) for result in results
        }
        if len(kinds) > 1:
            raise TaskError(
                f"task {task}: shapes or dtypes of its {what} change with the seed; all are static."
            )


def _write_program(
    request: ChildRequest, loaded: TaskModel, results: Sequence[SeedResult], begun_s: float, say: _Say
) -> None:
    # Imported late: what is wrong with the task's file shows before tvm has cost its second.
    from edgelab.kernel.importer import import_model

    first = results[0]
    outputs = _specs("out", first.outputs.tensors)
    tolerance, error_model = measure(loaded, results)
    imported = import_model(loaded.model, first.inputs, task=request.task)
    say(ChildLog("model imported into Relax"))
    if imported.inputs != _specs("in", first.inputs) or imported.outputs != outputs:
        got = ", ".join(map(str, (*imported.inputs, *imported.outputs)))
        raise ExportError(request.task, f"the imported program has other inputs or outputs: {got}")
    folder = Path(request.folder)
    (folder / PROGRAM_NAME).write_text(imported.program.text, encoding="utf-8")
    np.savez(folder / PARAMS_NAME, allow_pickle=False, **imported.params)
    meta = BundleMeta(
        task=request.task,
        digest=request.digest,
        torch_version=str(torch.__version__),
        tvm_version=_tvm_version(),
        inputs=imported.inputs,
        outputs=outputs,
        output_structure=first.outputs.structure,
        tolerance=tolerance,
        error_model=error_model,
        least_work=least_work(loaded, first.inputs, first.outputs),
        param_sources=imported.param_sources,
        elapsed_s=time.monotonic() - begun_s,
    )
    (folder / META_NAME).write_bytes(msgspec.json.encode(meta))


def _tvm_version() -> str:
    import tvm

    return tvm.__version__


def _error_event(error: Exception) -> ChildError:
    detail = traceback.format_exc()
    if isinstance(error, UnsupportedOperator):
        return ChildError("unsupported_operator", error.message, error.advice, error.operator, detail)
    if isinstance(error, EdgeLabError):
        kind = "export_error" if isinstance(error, ExportError) else "task_error"
        return ChildError(kind, error.message, error.advice, detail=getattr(error, "detail", "") or detail)
    assert isinstance(error, OSError)
    return ChildError(
        "storage",
        f"the reference bundle cannot be written: {error.strerror or error}.",
        "Free disk space there or choose another folder with --home.",
        detail=detail,
    )


def _write_event(descriptor: int, event: ChildEvent) -> None:
    os.write(descriptor, msgspec.json.encode(event) + b"\n")


def main() -> None:
    """Serve one request."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    say = functools.partial(_write_event, protocol)
    begun_s = time.monotonic()
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=ChildRequest)
    end_with_parent()
    try:
        make_bundle(request, say)
    except (EdgeLabError, OSError) as error:
        say(_error_event(error))
    else:
        say(ChildDone(time.monotonic() - begun_s))
    sys.stderr.flush()
    # The libraries' own teardown takes time and has crashed; everything is on disk.
    os._exit(0)


if __name__ == "__main__":
    main()
