"""Proof that TVM computes what PyTorch computes: every task's plain program, imported, built and run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

pytest.importorskip("tvm")

from edgelab.bench.reference import RECHECK_SEED, TIMING_SEED, VERIFICATION_SEEDS, ReferenceBundle, prepare
from edgelab.bench.tasks import Catalogue, catalogue_root
from edgelab.bench.tolerance import mismatched
from edgelab.kernel.build_protocol import BuildRequest
from edgelab.kernel.build_service import BuildService

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SEEDS = (*VERIFICATION_SEEDS, TIMING_SEED, RECHECK_SEED)
SPECS = Catalogue.load(catalogue_root()).specs


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def service() -> AsyncIterator[BuildService]:
    async with BuildService.start() as service:
        yield service


def run(artefact: str, bundle: ReferenceBundle, seed: int) -> list[np.ndarray]:
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.runtime.load_module(artefact), tvm.cpu())
    arrays = np.load(bundle.inputs_path(seed))
    result = machine["main"](*(tvm.runtime.tensor(arrays[spec.name]) for spec in bundle.meta.inputs))
    outputs = [result] if bundle.meta.output_structure == "tensor" else list(result)
    return [output.numpy() for output in outputs]


@pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])
async def test_plain_program_matches_pytorch(spec, service: BuildService, tmp_path: Path):
    bundle = await prepare(spec, tmp_path, seeds=SEEDS)
    reply = await service.build(
        BuildRequest(
            program_path=str(bundle.program_path),
            params_path=str(bundle.params_path),
            out_folder=str(tmp_path),
            role="baseline",
            expected_inputs=bundle.meta.inputs,
            expected_outputs=bundle.meta.outputs,
            output_structure=bundle.meta.output_structure,
        )
    )
    for seed in SEEDS:
        expected = np.load(bundle.expected_path(seed))
        outputs = await asyncio.to_thread(run, reply.artefact_path, bundle, seed)
        for output, out in zip(bundle.meta.outputs, outputs, strict=True):
            assert (out.shape, out.dtype.name) == (output.shape, output.dtype)
            wrong = mismatched(out, expected[output.name], bundle.meta.tolerance)
            assert not wrong.any(), f"{wrong.sum()} of {wrong.size} elements of {output.name}, seed {seed}"
