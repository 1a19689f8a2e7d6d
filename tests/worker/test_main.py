from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.worker.support import LIMITS, TOLERANCE, WorkerUnderTest, descendants, wait_gone

pytestmark = pytest.mark.integration

X = np.ones(1024, dtype=np.float32)


def start_endless_verification(worker: WorkerUnderTest, artefacts: Path) -> set[int]:
    """Leave the worker busy with a program that never ends; returns all processes below the worker."""
    child = worker.load(artefacts / "endless.so")["pid"]
    before = descendants(worker.process.pid)
    assert child in before
    x, out = worker.arrays("in", X), worker.arrays("out", X)
    line = (
        f'{{"id": 99, "op": "verify", "program": "candidate", "inputs": "{x}", "expected": "{out}",'
        f' "tolerance": {{"rtol": {TOLERANCE["rtol"]}, "atol": 0}}, "time_s": 300}}\n'
    )
    worker.send_raw(line.encode())
    deadline_s = time.monotonic() + 20
    # The first of the two calls is in a child of its own.
    while not any(cpu_ticks(pid) >= 10 for pid in descendants(worker.process.pid) - before):
        assert time.monotonic() < deadline_s, "the program did not start to run"
        time.sleep(0.01)
    processes = descendants(worker.process.pid)
    assert len(processes - before) == 1
    return processes


def cpu_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def test_killing_the_group_leaves_no_process(worker: WorkerUnderTest, artefacts: Path):
    processes = start_endless_verification(worker, artefacts)
    os.killpg(worker.process.pid, signal.SIGKILL)
    worker.process.wait(10)
    assert wait_gone(processes) == set()


def test_killing_the_worker_alone_leaves_no_process(worker: WorkerUnderTest, artefacts: Path):
    processes = start_endless_verification(worker, artefacts)
    worker.process.kill()
    worker.process.wait(10)
    assert wait_gone(processes) == set()


def test_closed_stdin_ends_a_running_operation_and_everything(worker: WorkerUnderTest, artefacts: Path):
    processes = start_endless_verification(worker, artefacts)
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.process.wait(10) == 0
    assert wait_gone(processes) == set()


def test_killed_fork_server_ends_the_worker_with_an_error(worker: WorkerUnderTest, artefacts: Path):
    child = worker.load(artefacts / "copy.so")["pid"]
    (server,) = {pid for pid in descendants(worker.process.pid) if pid != child}
    os.kill(server, signal.SIGKILL)
    assert wait_gone({child}) == set()
    sha = worker.put((artefacts / "copy.so").read_bytes())
    request = {"id": 1, "op": "load", "program": "x", "artefact": sha, "limits": LIMITS}
    worker.send_raw(json.dumps(request).encode() + b"\n")
    assert worker.process.wait(20) == 1
    assert worker.process.stderr is not None
    assert b"fork server" in worker.process.stderr.read()


def test_without_tvm_the_worker_says_so_and_ends(tmp_path: Path):
    (tmp_path / "tvm.py").write_text("raise ImportError('no tvm here')\n")
    done = subprocess.run(
        [sys.executable, "-m", "edgelab.worker", "--blobs", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert b"no tvm here" in done.stderr
    assert b"could not be loaded" in done.stderr
    assert done.stdout == b""
