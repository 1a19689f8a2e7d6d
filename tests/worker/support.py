"""A worker in a process of its own, spoken to line by line, and probes that run in a forked process."""

from __future__ import annotations

import hashlib
import io
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPLY_LIMIT_S = 60.0
LIMITS = {"memory_bytes": 2 << 30, "time_s": 20, "threads": 1}
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


class WorkerUnderTest:
    """`edgelab.worker` as a subprocess with a blob folder."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.blobs = folder
        self.blobs.chmod(0o700)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "edgelab.worker", "--blobs", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **environment},
        )
        self._last_id = 0
        self._buffer = b""

    def put(self, content: bytes) -> str:
        sha = hashlib.sha256(content).hexdigest()
        # Never rewritten in place: truncating a mapped library takes its data away under a program.
        if not (self.blobs / sha).exists():
            (self.blobs / sha).write_bytes(content)
        return sha

    def arrays(self, prefix: str, *arrays: np.ndarray) -> str:
        buffer = io.BytesIO()
        np.savez(buffer, **{f"{prefix}{i}": array for i, array in enumerate(arrays)})  # type: ignore[arg-type]
        return self.put(buffer.getvalue())

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        deadline_s = time.monotonic() + REPLY_LIMIT_S
        while b"\n" not in self._buffer:
            ready, _, _ = select.select(
                [self.process.stdout], [], [], max(0.0, deadline_s - time.monotonic())
            )
            assert ready, "the worker did not answer in time"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "the worker ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def op(self, op: str, **fields: Any) -> dict[str, Any]:
        self._last_id += 1
        self.send_raw(json.dumps({"id": self._last_id, "op": op, **fields}).encode() + b"\n")
        while (event := self.event())["event"] == "progress":
            pass
        assert event["id"] == self._last_id
        return event

    def load(self, artefact: Path, name: str = "candidate", **limits: Any) -> dict[str, Any]:
        sha = self.put(artefact.read_bytes())
        return self.op("load", program=name, artefact=sha, limits={**LIMITS, **limits})

    def load_opencl(
        self, artefact: Path, library: Path, name: str = "candidate", index: int = 0, **limits: Any
    ) -> dict[str, Any]:
        device = {"kind": "opencl", "index": index, "library": self.put(library.read_bytes())}
        sha = self.put(artefact.read_bytes())
        return self.op("load", program=name, artefact=sha, limits={**LIMITS, **limits}, device=device)

    def verify(
        self, inputs: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...], *, time_s: float = 60.0
    ) -> dict[str, Any]:
        return self.op(
            "verify",
            program="candidate",
            inputs=self.arrays("in", *inputs),
            expected=self.arrays("out", *expected),
            tolerance=TOLERANCE,
            time_s=time_s,
        )

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.kill()
        self.process.wait(REPLY_LIMIT_S)


def descendants(pid: int) -> set[int]:
    """All living processes that descend from `pid`, zombies not counted."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (state := process_state(int(entry.name))) and state[0] != "Z":
            parents[int(entry.name)] = state[1]
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found and child not in found}:
        found |= more
    return found - {pid}


def process_state(pid: int) -> tuple[str, int] | None:
    """State letter and parent of a process, None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1])


def wait_gone(pids: set[int], limit_s: float = 10.0) -> set[int]:
    """Wait until none of the processes lives; returns those that still do."""
    deadline_s = time.monotonic() + limit_s
    while left := {pid for pid in pids if (state := process_state(pid)) and state[0] != "Z"}:
        if time.monotonic() > deadline_s:
            return left
        time.sleep(0.01)
    return set()


def in_fork(probe: Callable[[], str]) -> str:
    """Run `probe` in a forked process and return its text; an exception's type and errno name count too."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.write(writing, _answer(probe).encode())
        finally:
            # Whatever happens, this copy of the test run must not go on.
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    status = os.waitpid(pid, 0)[1]
    return answer or f"status {status}"


def _answer(probe: Callable[[], str]) -> str:
    try:
        return probe()
    except OSError as error:
        return f"OSError {error.errno}"
    except BaseException as error:  # noqa: BLE001 - reported to the test
        return f"{type(error).__name__}: {error}"
