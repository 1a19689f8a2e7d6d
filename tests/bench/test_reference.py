from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from edgelab.bench import reference
from edgelab.bench.reference import ReferenceBundle, prepare
from edgelab.bench.tasks import TaskSpec
from edgelab.bench.tolerance import mismatched
from edgelab.errors import EvaluationFailure, FailureClass, TaskError
from edgelab.kernel.import_errors import UnsupportedOperator
from tests.support.task_files import SOUND, runs, until, write_task

pytestmark = pytest.mark.integration

MIXED = """import torch
from torch import nn

# What a task prints must not be taken for the protocol.
print('{"event": "done", "elapsed_s": 0}', flush=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 4)

    def forward(self, ids, mask, image):
        picked = self.table(ids) + image.to(torch.float32)
        return torch.where(mask, picked, -picked), mask.logical_not(), ids + 1


def get_inputs():
    return [
        torch.randint(0, 16, (6,)),
        torch.rand(6, 1) > 0.5,
        torch.randint(0, 256, (6, 4), dtype=torch.uint8),
    ]


def get_init_inputs():
    return []
"""

ENDLESS = """import os, pathlib, subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
place = pathlib.Path(__file__).with_suffix(".pids")
place.with_suffix(".new").write_text(f"{os.getpid()} {helper.pid}")
place.with_suffix(".new").rename(place)
while True:
    pass
"""


def seeds_of(bundle: ReferenceBundle) -> set[str]:
    return {path.name for path in bundle.folder.glob("seed_*")}


def leftovers(cache: Path) -> list[Path]:
    return list((cache / "reference").glob(".work-*"))


async def pids_of(spec: TaskSpec) -> list[int]:
    place = spec.path.with_suffix(".pids")
    await until(place.exists)
    return [int(pid) for pid in place.read_text().split()]


async def gone(pids: list[int]) -> None:
    await until(lambda: not any(runs(pid) for pid in pids), limit_s=20)


async def test_bundle_holds_program_params_and_seeds(tmp_path: Path):
    said: list[str] = []
    bundle = await prepare(write_task(tmp_path, SOUND), tmp_path, seeds=(11, 23), on_log=said.append)
    assert [str(s) for s in (*bundle.meta.inputs, *bundle.meta.outputs)] == [
        "in0: float32[4, 8]",
        "out0: float32[4, 3]",
    ]
    assert bundle.meta.output_structure == "tensor"
    assert bundle.meta.error_model.reduction_length == 8
    assert "def main(" in bundle.program_path.read_text()
    assert set(bundle.meta.param_sources.values()) == {"linear.weight", "linear.bias"}
    params = {source: np.load(bundle.params_path)[name] for name, source in bundle.meta.param_sources.items()}
    for seed in (11, 23):
        x = np.load(bundle.inputs_path(seed))["in0"]
        expected = np.load(bundle.expected_path(seed))["out0"]
        own = np.maximum(x.astype("f8") @ params["linear.weight"].T + params["linear.bias"], 0)
        assert not mismatched(own, expected, bundle.meta.tolerance).any()
    assert any("reference 2 of 2 is ready" in line for line in said)
    assert leftovers(tmp_path) == []


async def test_integers_booleans_and_bytes_keep_their_dtypes(tmp_path: Path):
    bundle = await prepare(write_task(tmp_path, MIXED), tmp_path, seeds=(11,))
    assert [spec.dtype for spec in bundle.meta.inputs] == ["int64", "bool", "uint8"]
    assert [spec.dtype for spec in bundle.meta.outputs] == ["float32", "bool", "int64"]
    assert bundle.meta.output_structure == "tuple"
    inputs, expected = np.load(bundle.inputs_path(11)), np.load(bundle.expected_path(11))
    assert [inputs[f"in{i}"].dtype.name for i in range(3)] == ["int64", "bool", "uint8"]
    np.testing.assert_array_equal(expected["out1"], ~inputs["in1"])
    np.testing.assert_array_equal(expected["out2"], inputs["in0"] + 1)


async def test_second_time_is_answered_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spec = write_task(tmp_path, SOUND)
    first = await prepare(spec, tmp_path, seeds=(11, 23))

    async def no_child(*_args: object, **_kwargs: object) -> None:
        pytest.fail("a child was started for what is in the cache")

    monkeypatch.setattr(reference, "run_reference_child", no_child)
    assert await prepare(spec, tmp_path, seeds=(23,)) == first


async def test_seeds_join_a_bundle_later_and_the_program_stays(tmp_path: Path):
    spec = write_task(tmp_path, SOUND)
    first = await prepare(spec, tmp_path, seeds=(11,))
    before = (first.program_path.stat().st_ino, first.expected_path(11).stat().st_ino)
    second = await prepare(spec, tmp_path, seeds=(11, 47))
    assert (second.program_path.stat().st_ino, second.expected_path(11).stat().st_ino) == before
    assert second.meta == first.meta
    assert len(seeds_of(second)) == 4
    assert not np.array_equal(np.load(second.inputs_path(47))["in0"], np.load(second.inputs_path(11))["in0"])
    assert leftovers(tmp_path) == []


@pytest.mark.slow
async def test_tolerance_does_not_depend_on_the_seeds_asked_for_first(tmp_path: Path):
    spec = write_task(tmp_path, SOUND)
    one = await prepare(spec, tmp_path / "one", seeds=(11,))
    other = await prepare(spec, tmp_path / "other", seeds=(47, 5))
    assert one.meta.tolerance == other.meta.tolerance
    assert len(seeds_of(one)) == 2


async def test_no_seed_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="at least one seed"):
        await prepare(write_task(tmp_path, SOUND), tmp_path, seeds=())


@pytest.mark.slow
async def test_changed_file_is_another_bundle(tmp_path: Path):
    first = await prepare(write_task(tmp_path, SOUND), tmp_path, seeds=(11,))
    second = await prepare(write_task(tmp_path, SOUND.replace("= 8", "= 9")), tmp_path, seeds=(11,))
    assert second.folder != first.folder
    assert second.meta.inputs[0].shape == (4, 9)


@pytest.mark.slow
async def test_two_at_once_and_a_damaged_bundle(tmp_path: Path):
    spec = write_task(tmp_path, SOUND)
    one, two = await asyncio.gather(
        prepare(spec, tmp_path, seeds=(11,)), prepare(spec, tmp_path, seeds=(11, 23))
    )
    assert one.folder == two.folder
    assert len(seeds_of(two)) == 4
    (one.folder / "meta.json").write_text("{")
    again = await prepare(spec, tmp_path, seeds=(11,))
    assert again.meta.digest == two.meta.digest
    assert again.has(11)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "torch.relu(self.linear(x))",
            "self.linear(x.T)",
            "Model.forward raised RuntimeError: mat1 and mat2",
        ),
        ("torch.relu(self.linear(x))", "torch.log(-x.abs() - 1)", "output 0 has NaN for seed 11"),
        ("torch.relu(self.linear(x))", "(x * 1e6).to(torch.int32)", "rounding decides it"),
        ("torch.randn(4, FEATURES)", "torch.randn(int(torch.randint(2, 99, ())), 8)", "change with the seed"),
    ],
)
async def test_task_that_cannot_be_a_reference_is_refused(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(TaskError) as caught:
        await prepare(write_task(tmp_path, SOUND.replace(old, new)), tmp_path, seeds=(11, 23))
    assert message in caught.value.message
    assert "task toy: " in caught.value.message
    assert list((tmp_path / "reference").iterdir()) == []


async def test_unsupported_operator_names_operator_and_task(tmp_path: Path):
    text = SOUND.replace("torch.relu(self.linear(x))", "torch.cummax(x, 1)[0]")
    with pytest.raises(UnsupportedOperator, match=r"task toy: .*cummax"):
        await prepare(write_task(tmp_path, text), tmp_path, seeds=(11,))


async def test_time_limit_names_task_and_limit(tmp_path: Path):
    spec = write_task(tmp_path, SOUND)
    with pytest.raises(TaskError, match=r"task toy: its reference was not ready after 0\.2 s"):
        await prepare(spec, tmp_path, seeds=(11,), time_limit_s=0.2)
    assert leftovers(tmp_path) == []


async def test_cancellation_ends_the_whole_process_group(tmp_path: Path):
    spec = write_task(tmp_path, ENDLESS)
    work = asyncio.create_task(prepare(spec, tmp_path, seeds=(11,)))
    pids = await pids_of(spec)
    assert all(runs(pid) for pid in pids)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await gone(pids)
    assert leftovers(tmp_path) == []


async def test_child_ends_when_its_parent_is_killed(tmp_path: Path):
    spec = write_task(tmp_path, ENDLESS)
    code = (
        "import asyncio, sys; from pathlib import Path;"
        "from edgelab.bench.reference import prepare; from edgelab.bench.tasks import Catalogue, resolve;"
        "asyncio.run(prepare(resolve(sys.argv[1], Catalogue(())), Path(sys.argv[2]), seeds=(11,)))"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(spec.path), str(tmp_path))
    try:
        pids = await pids_of(spec)
    finally:
        parent.kill()
        await parent.wait()
    await gone(pids)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"os.kill(os.getpid(), {int(signal.SIGKILL)})", "was killed by SIGKILL"),
        (
            "os.write(2, b'last words'); os._exit(3)",
            "exit status 3 and without a result; its last words: last words",
        ),
    ],
)
async def test_crash_of_the_child_is_told(tmp_path: Path, statement: str, message: str):
    spec = write_task(tmp_path, f"import os\n{statement}\n")
    with pytest.raises(TaskError) as caught:
        await prepare(spec, tmp_path, seeds=(11,))
    assert message in caught.value.message
    assert str(spec.path) in caught.value.message


async def test_cache_that_cannot_be_written_is_infrastructure(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EvaluationFailure) as caught:
        await prepare(write_task(tmp_path, SOUND), tmp_path / "file", seeds=(11,))
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
    assert "Not a directory" in caught.value.message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's full disk")
async def test_full_disk_in_the_child_is_infrastructure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def work_with_full_disk(parent: Path) -> Path:
        work = parent / ".work-full"
        work.mkdir(parents=True)
        (work / reference.inputs_name(11)).symlink_to("/dev/full")
        return work

    monkeypatch.setattr(reference, "_work_folder", work_with_full_disk)
    with pytest.raises(EvaluationFailure, match="No space left on device") as caught:
        await prepare(write_task(tmp_path, SOUND), tmp_path, seeds=(11,))
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
    assert leftovers(tmp_path) == []


async def test_operators_folder_does_not_shadow_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "msgspec.py").write_text("raise RuntimeError('shadowed')\n")
    monkeypatch.chdir(tmp_path)
    bundle = await prepare(write_task(tmp_path, SOUND), tmp_path / "cache", seeds=(11,))
    assert bundle.has(11)
