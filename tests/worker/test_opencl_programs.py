"""Programs for OpenCL in the worker: the driver's needs, and what a program may still not do. PoCL stands in for a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.worker.support import WorkerUnderTest, descendants, wait_gone

pytestmark = pytest.mark.integration

X = np.random.default_rng(7).random(1024, dtype=np.float32) + 0.5


@pytest.fixture
def opencl_worker(tmp_path: Path, opencl_library: Path) -> Iterator[WorkerUnderTest]:
    """A worker whose temporary files lie in the folder `tmp` beside its blobs."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "tmp").mkdir()
    # Children are users of their own: every folder above theirs has to let them through.
    for folder in (tmp_path / "tmp", *tmp_path.parents[:3], tmp_path):
        folder.chmod(folder.stat().st_mode | 0o111)
    worker = WorkerUnderTest(tmp_path / "blobs", TMPDIR=str(tmp_path / "tmp"))
    yield worker
    worker.end()


def filters(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("Seccomp_filters:")[2].split()[0])


def test_a_right_program_is_verified_timed_and_leaves_cleanly(
    opencl_worker: WorkerUnderTest, opencl_artefacts: Path, opencl_library: Path
):
    worker = opencl_worker
    loaded = worker.load_opencl(opencl_artefacts / "copy.so", opencl_library)
    assert loaded["event"] == "done", loaded
    for _ in range(2):
        done = worker.verify((X,), (X,))
        assert done["event"] == "done", done
        assert (done["ok"], done["mismatched"], done["total"]) == (True, 0, 1024), done
    wrong = worker.verify((X,), (X + np.float32(1),))
    assert (wrong["ok"], wrong["index"]) == (False, [0])
    worker.load_opencl(opencl_artefacts / "copy.so", opencl_library, "baseline")
    for name in ("candidate", "baseline"):
        assert worker.op("prepare_timing", program=name, inputs=worker.arrays("in", X))["event"] == "done"
    timed = worker.op(
        "pair", a="candidate", b="baseline", pairs=5, calls_per_block=3, warm_calls=1, first=0, time_s=30
    )
    assert timed["event"] == "done", timed
    assert all(latency_s > 0 for latency_s in timed["a_s"] + timed["b_s"])
    memory = worker.op("memory", program="candidate")
    assert memory["device_bytes"] is None, "PoCL's buffers are in the process's own memory"
    assert memory["peak_rss_bytes"] > memory["baseline_rss_bytes"]
    assert worker.op("unload", program="candidate")["exit"] == "exit 0"


def test_the_filters_are_up_after_the_first_call(
    opencl_worker: WorkerUnderTest, opencl_artefacts: Path, opencl_library: Path
):
    pid = opencl_worker.load_opencl(opencl_artefacts / "copy.so", opencl_library)["pid"]
    before = filters(pid)
    done = opencl_worker.verify((X,), (X,))
    assert done.get("ok"), done
    assert filters(pid) == before + 2
    assert Path(f"/proc/{pid}").stat().st_uid != os.getuid() or os.getuid() != 0


@pytest.mark.parametrize("name", ["half_written", "times_zero"])
def test_memory_that_nobody_wrote_is_nan(
    opencl_worker: WorkerUnderTest, opencl_artefacts: Path, opencl_library: Path, name: str
):
    worker = opencl_worker
    # What the first call left in the pool would be right for the second one.
    for _ in range(2):
        worker.load_opencl(opencl_artefacts / f"{name}.so", opencl_library)
        done = worker.verify((X,), (X,))
        assert done.get("ok") is False, done
        assert done["got"] == "nan"


@pytest.mark.parametrize(
    ("name", "failure_class", "said"),
    [
        ("too_many_threads", "parallel", "needs a work group of 1048576 x 1 x 1"),
        ("huge_tensor", "memory", "out of memory"),
    ],
)
def test_what_the_device_has_not_is_told(
    opencl_worker: WorkerUnderTest,
    opencl_artefacts: Path,
    opencl_library: Path,
    name: str,
    failure_class: str,
    said: str,
):
    opencl_worker.load_opencl(opencl_artefacts / f"{name}.so", opencl_library)
    failed = opencl_worker.verify((X,), (X,))
    assert (failed["event"], failed["class"]) == ("error", failure_class), failed
    assert said in failed["message"]
    opencl_worker.load_opencl(opencl_artefacts / "copy.so", opencl_library)
    assert opencl_worker.verify((X,), (X,))["ok"], "the next program does not suffer for it"


def test_an_endless_kernel_is_killed(
    opencl_worker: WorkerUnderTest, opencl_artefacts: Path, opencl_library: Path
):
    opencl_worker.load_opencl(opencl_artefacts / "endless.so", opencl_library)
    failed = opencl_worker.verify((X,), (X,), time_s=6.0)
    assert (failed["event"], failed["class"]) == ("error", "timeout"), failed


def test_a_device_that_is_not_there_is_nobodys_fault(
    opencl_worker: WorkerUnderTest, opencl_artefacts: Path, opencl_library: Path
):
    failed = opencl_worker.load_opencl(opencl_artefacts / "copy.so", opencl_library, index=7)
    assert (failed["event"], failed["class"]) == ("error", "infrastructure"), failed
    assert "no opencl device 7" in failed["message"]


def test_a_machine_without_a_driver_says_so(tmp_path: Path, opencl_artefacts: Path, opencl_library: Path):
    (tmp_path / "no-vendors").mkdir()
    (tmp_path / "blobs").mkdir()
    worker = WorkerUnderTest(tmp_path / "blobs", OCL_ICD_VENDORS=str(tmp_path / "no-vendors"))
    try:
        failed = worker.load_opencl(opencl_artefacts / "copy.so", opencl_library)
    finally:
        worker.end()
    assert (failed["event"], failed["class"]) == ("error", "infrastructure"), failed
    assert "no OpenCL driver is installed" in failed["message"]


def test_cuda_where_there_is_none_is_nobodys_fault(shared_worker: WorkerUnderTest, opencl_artefacts: Path):
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a GPU")
    sha = shared_worker.put((opencl_artefacts / "copy.so").read_bytes())
    limits = {"memory_bytes": 2 << 30, "time_s": 20, "threads": 1}
    failed = shared_worker.op(
        "load", program="candidate", artefact=sha, limits=limits, device={"kind": "cuda", "index": 0}
    )
    assert (failed["event"], failed["class"]) == ("error", "infrastructure"), failed


@pytest.mark.parametrize("device", [{"kind": "tpu", "index": 0}, {"kind": "opencl", "index": 0}, "cpu", {}])
def test_a_device_that_is_none_is_refused(shared_worker: WorkerUnderTest, artefacts: Path, device: object):
    sha = shared_worker.put((artefacts / "copy.so").read_bytes())
    limits = {"memory_bytes": 2 << 30, "time_s": 20, "threads": 1}
    failed = shared_worker.op("load", program="candidate", artefact=sha, limits=limits, device=device)
    assert (failed["event"], failed["class"]) == ("error", "infrastructure"), failed


def test_nothing_is_left_behind(
    opencl_worker: WorkerUnderTest, opencl_artefacts: Path, opencl_library: Path, tmp_path: Path
):
    worker = opencl_worker
    stale = tmp_path / "tmp" / "edgelab-kernels-4194300-old"
    stale.mkdir()
    worker.load_opencl(opencl_artefacts / "copy.so", opencl_library)
    assert worker.verify((X,), (X,))["ok"]
    assert not stale.exists(), "the folder of a worker that is gone"
    assert list((tmp_path / "tmp").glob("edgelab-kernels-*"))
    children = descendants(worker.process.pid)
    assert worker.op("shutdown")["event"] == "done"
    assert worker.process.wait(30) == 0
    assert not wait_gone(children)
    assert not list((tmp_path / "tmp").glob("edgelab-kernels-*"))
