"""The target source of a program (level 2): what an edit of LLVM IR, CUDA C++ or OpenCL C starts from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from edgelab.bench.artefacts import ArtefactCache
from edgelab.bench.program_build import BuildOrder, build_request
from edgelab.bench.reference import VERIFICATION_SEEDS, prepare
from edgelab.bench.tasks import TaskSpec
from edgelab.kernel import guard
from edgelab.kernel.build_service import BuildService
from edgelab.kernel.program import KernelProgram, ProgramOrigin

_BUILD_LIMIT_S = 120.0


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
    order = BuildOrder(
        role="baseline" if origin is ProgramOrigin.IMPORT else "candidate",
        program=program,
        backend=str((target or {}).get("kind", "llvm")),
        target=target,
        time_limit_s=_BUILD_LIMIT_S,
        product="source",
    )
    request = build_request(order, bundle, ArtefactCache(cache / "artefacts").request_folder())
    async with BuildService.start() as service:
        reply = await service.build(request)
    return await asyncio.to_thread(_taken, Path(reply.artefact_path), reply.kernels)


def _taken(made: Path, kernels: tuple[str, ...]) -> TargetSource:
    """Return what was made; the file is of no use to anybody else."""
    text = made.read_text()
    made.unlink()
    return TargetSource(text, made.suffix, kernels)
