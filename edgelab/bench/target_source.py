"""The target source of a program (level 2): what an edit of LLVM IR, CUDA C++ or OpenCL C starts from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from edgelab.bench.artefacts import ArtefactCache
from edgelab.bench.reference import VERIFICATION_SEEDS, prepare
from edgelab.bench.storage import write_atomically
from edgelab.bench.tasks import TaskSpec
from edgelab.kernel import guard
from edgelab.kernel.build_protocol import BuildRequest
from edgelab.kernel.build_service import BuildService
from edgelab.kernel.program import KernelProgram, ProgramOrigin


class TargetSource(msgspec.Struct, frozen=True):
    """Source of all kernels of a program, and the suffix of files that hold such source."""

    text: str
    suffix: str
    kernels: tuple[str, ...]


async def target_source(
    task: TaskSpec,
    cache: Path,
    *,
    target: dict[str, Any] | None,
    candidate_text: str | None = None,
    on_log: Callable[[str], None] | None = None,
) -> TargetSource:
    """Return the source that a program is translated to for `target` (None: this machine's CPU).

    The program is the task's own import unless `candidate_text` gives another. The source is that which
    an evaluation with the same target puts an edit in the place of. Raises what building it raises.
    """
    if candidate_text is not None:
        guard.check(candidate_text)
    bundle = await prepare(task, cache, seeds=VERIFICATION_SEEDS, on_log=on_log)
    origin = ProgramOrigin.IMPORT if candidate_text is None else ProgramOrigin.CANDIDATE
    text = bundle.program_path.read_text() if candidate_text is None else candidate_text
    program = KernelProgram(text=text, task=task.name, origin=origin)
    folder = ArtefactCache(cache / "artefacts").request_folder()
    path = folder / f"{program.digest}.py"
    write_atomically(path, text.encode())
    request = BuildRequest(
        program_path=str(path),
        params_path=str(bundle.params_path),
        target=target,
        out_folder=str(folder),
        product="source",
        role="baseline" if origin is ProgramOrigin.IMPORT else "candidate",
        expected_inputs=bundle.meta.inputs,
        expected_outputs=bundle.meta.outputs,
        output_structure=bundle.meta.output_structure,
    )
    async with BuildService.start() as service:
        reply = await service.build(request)
    return await asyncio.to_thread(_taken, Path(reply.artefact_path), reply.kernels)


def _taken(made: Path, kernels: tuple[str, ...]) -> TargetSource:
    """Return what was made; the file is of no use to anybody else."""
    text = made.read_text()
    made.unlink()
    return TargetSource(text, made.suffix, kernels)
