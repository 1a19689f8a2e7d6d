"""Builds one of an evaluation's programs, or finds it in the cache, and tells of it in events."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec

from edgelab.bench.artefacts import Artefact, ArtefactCache
from edgelab.bench.baseline.apply import TunedBaseline
from edgelab.bench.phases import Emit
from edgelab.bench.reference import ReferenceBundle
from edgelab.bench.storage import file_digest, write_atomically
from edgelab.events import Built, Lowered, Role
from edgelab.kernel.build_protocol import BuildRequest
from edgelab.kernel.build_service import BuildService
from edgelab.kernel.program import KernelProgram, ProgramOrigin


class BuildOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to build: a program in its role, for a target (None: this machine's CPU), under `tuned` schedules.

    `product` is a library for the device, or the target source as text.
    """

    role: Role
    program: KernelProgram
    backend: str
    target: dict[str, Any] | None
    time_limit_s: float
    tuned: TunedBaseline | None = None
    product: Literal["library", "source"] = "library"


async def build_program(
    service: BuildService, order: BuildOrder, bundle: ReferenceBundle, folder: Path, emit: Emit
) -> Artefact:
    """Return the artefact, from the cache in `folder` where it is known. Raises what `BuildService.build` raises."""
    cache = ArtefactCache(folder)
    params = await asyncio.to_thread(file_digest, bundle.params_path)
    request = build_request(order, bundle, cache.request_folder())
    artefact = await cache.build(service, order.program, request, params, await service.host())
    reply = artefact.reply
    if not artefact.cached:
        emit(
            Lowered(
                role=order.role,
                adapter=order.backend,
                program=order.program.digest,
                kernels=reply.kernels,
                cost_s=reply.phase_s.get("lower", 0.0),
            )
        )
    emit(
        Built(
            role=order.role,
            program=order.program.digest,
            artefact=reply.artefact_sha256,
            size_bytes=reply.size_bytes,
            cost_s=sum(reply.phase_s.values()),
            cached=artefact.cached,
            planned_memory_bytes=reply.planned_memory_bytes,
        )
    )
    return artefact


def build_request(order: BuildOrder, bundle: ReferenceBundle, folder: Path) -> BuildRequest:
    """Write what is to be built into `folder` and return the request for it. Raises what writing raises."""
    program = order.program
    text_path = folder / f"{program.digest}.py"
    write_atomically(text_path, program.text.encode())
    source_path = None
    if program.source is not None:
        source_path = text_path.with_suffix(".source")
        write_atomically(source_path, program.source.encode())
    return BuildRequest(
        program_path=str(text_path),
        params_path=str(bundle.params_path),
        schedules_path=None if order.tuned is None else str(order.tuned.write(folder)),
        source_path=None if source_path is None else str(source_path),
        target=order.target,
        out_folder=str(folder),
        product=order.product,
        role="baseline" if program.origin is ProgramOrigin.IMPORT else "candidate",
        time_limit_s=order.time_limit_s,
        expected_inputs=bundle.meta.inputs,
        expected_outputs=bundle.meta.outputs,
        output_structure=bundle.meta.output_structure,
    )
