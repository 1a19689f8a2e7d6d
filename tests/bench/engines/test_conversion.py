"""From a model to ONNX and MNN: what cannot be converted says why, and what can is converted once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from edgelab.bench.engines.engine import EngineFailure, InstalledEngine
from edgelab.bench.engines.engine_process import EngineProcess
from edgelab.bench.engines.messages import Preparation
from edgelab.bench.reference import META_NAME, BundleMeta, ErrorModel
from edgelab.drivers.worker_messages import Tolerance
from edgelab.kernel.program import TensorSpec
from tests.support.engines import installed
from tests.support.task_files import write_task

pytestmark = pytest.mark.integration

MODEL = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return {body}


def get_inputs():
    return [torch.randn(4, 4)]


def get_init_inputs():
    return []
"""

X = np.random.default_rng(3).random((4, 4), dtype="float32")


def preparation(folder: Path, body: str, *, name: str = "toy") -> Preparation:
    """Return the request for a model whose bundle has no program: TVM has no part in this."""
    task = write_task(folder, MODEL.format(body=body), name)
    spec = TensorSpec("x", (4, 4), "float32")
    meta = BundleMeta(
        task=name, digest=task.digest, torch_version="", tvm_version="",
        inputs=(msgspec.structs.replace(spec, name="in0"),),
        outputs=(msgspec.structs.replace(spec, name="out0"),), output_structure="tensor",
        tolerance=Tolerance(1e-5, 1e-5), error_model=ErrorModel(1, None), param_sources={}, elapsed_s=0.0,
    )  # fmt: skip
    (folder / META_NAME).write_bytes(msgspec.json.encode(meta))
    np.savez(folder / "inputs.npz", in0=X)
    return Preparation(
        task=name, path=str(task.path), source_path=str(task.path), digest=task.digest, bundle=str(folder),
        example_inputs=str(folder / "inputs.npz"), cache=str(folder / "cache"), threads=1,
        memory_bytes=8 << 30,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["onnxruntime", "mnn"])
async def test_an_operator_that_onnx_lacks_is_the_reason(tmp_path, name):
    request = preparation(tmp_path, "torch.linalg.qr(x).Q")
    async with EngineProcess(installed(name), threads=1, cache=tmp_path / "cache") as engine:
        with pytest.raises(EngineFailure, match=r"cannot be exported to ONNX: .*qr") as caught:
            await engine.prepare(request, 120)
    assert caught.value.problem == "unsupported"
    assert not list((tmp_path / "cache" / "engines").rglob("*.onnx"))
    assert not list((tmp_path / "cache" / "engines").rglob(".making-*"))


@pytest.mark.parametrize("name", ["onnxruntime", "mnn"])
async def test_a_conversion_is_made_once(tmp_path, name):
    request = preparation(tmp_path, "torch.relu(x) * 2 + x")
    made = []
    for _ in range(2):
        async with EngineProcess(installed(name), threads=1, cache=tmp_path / "cache") as engine:
            await engine.prepare(request, 120)
            await engine.take(tmp_path / "inputs.npz", renew=True)
            (got,) = await engine.call(30)
            np.testing.assert_allclose(got, np.maximum(X, 0) * 2 + X, rtol=1e-6)
        files = sorted((tmp_path / "cache" / "engines").rglob("*.[om]n*"))
        made.append([(path.name, path.stat().st_mtime_ns) for path in files if path.is_file()])
    assert made[0] == made[1]
    assert {Path(path).suffix for path, _ in made[0]} >= {".onnx"}


async def test_another_model_gets_another_file(tmp_path):
    engine = installed("onnxruntime")
    for number, body in enumerate(("x + 1", "x + 2")):
        folder = tmp_path / str(number)
        folder.mkdir()
        request = msgspec.structs.replace(preparation(folder, body), cache=str(tmp_path / "cache"))
        async with EngineProcess(engine, threads=1, cache=tmp_path / "cache") as process:
            await process.prepare(request, 120)
    assert len(list((tmp_path / "cache" / "engines" / "onnx").glob("*.onnx"))) == 2


async def test_a_damaged_conversion_is_a_reason(tmp_path):
    engine = installed("mnn")
    request = preparation(tmp_path, "torch.relu(x)")
    async with EngineProcess(engine, threads=1, cache=tmp_path / "cache") as process:
        await process.prepare(request, 120)
    for path in (tmp_path / "cache" / "engines" / "mnn").glob("*.mnn"):
        path.unlink()
    for path in (tmp_path / "cache" / "engines" / "onnx").glob("*.onnx"):
        path.write_bytes(b"not a model")
    async with EngineProcess(engine, threads=1, cache=tmp_path / "cache") as process:
        with pytest.raises(EngineFailure, match=r"MNN's converter: .*onnx model"):
            await process.prepare(request, 120)


async def test_mnns_tools_which_report_conversions_are_not_loaded(tmp_path):
    """Its command line module would install a logging package and send a report of each conversion."""
    real = installed("mnn")
    engine = InstalledEngine(
        name="mnn", title="", packages=("mnn",), runner="tests.support.mnn_runner:TellingMnnRunner"
    )
    assert engine.available().version == real.available().version
    async with EngineProcess(engine, threads=1, cache=tmp_path / "cache") as process:
        prepared = await process.prepare(preparation(tmp_path, "torch.relu(x)"), 120)
    assert prepared.settings["tools"] == ""
