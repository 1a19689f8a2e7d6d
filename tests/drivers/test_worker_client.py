"""The client against scripted streams, then against the real worker through the local transport."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgelab.drivers.local import LocalTransport
from edgelab.drivers.worker_archive import build_archive
from edgelab.drivers.worker_client import ProgramFailure, WorkerClient
from edgelab.drivers.worker_messages import Limits, Tolerance
from edgelab.errors import EvaluationFailure, FailureClass
from tests.worker.conftest import artefacts  # noqa: F401 - a fixture
from tests.worker.support import descendants, wait_gone

INFRASTRUCTURE = FailureClass.INFRASTRUCTURE


class ScriptedWorker:
    """Answers each request line with what the script gives for it."""

    def __init__(self, script: Callable[[dict[str, Any]], bytes | None]) -> None:
        self.reader = asyncio.StreamReader(limit=10_000)
        self.writer = self
        self.script = script
        self.closed = False
        self.seen: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        request = json.loads(data)
        self.seen.append(request)
        if (answer := self.script(request)) is None:
            self.reader.feed_eof()
        else:
            self.reader.feed_data(answer)

    async def drain(self) -> None:
        return

    async def describe_end(self) -> tuple[str, str]:
        return "signal SIGKILL", "last words"

    async def close(self) -> None:
        self.closed = True


def client_of(script: Callable[[dict[str, Any]], bytes | None]) -> WorkerClient:
    return WorkerClient(ScriptedWorker(script), "bench-1")


def event(request: dict[str, Any], kind: str = "done", **fields: Any) -> bytes:
    return json.dumps({"id": request["id"], "event": kind, **fields}).encode() + b"\n"


READING = {"cpu_freq_hz": None, "temperature_c": 40.5, "load_1min": 0.1, "memory_available_bytes": 5}


async def test_reply_becomes_an_object():
    reading = await client_of(lambda request: event(request, **READING)).sample()
    assert (reading.temperature_c, reading.cpu_freq_hz) == (40.5, None)


async def test_requests_wait_for_each_other():
    worker = ScriptedWorker(lambda request: event(request, **READING))
    client = WorkerClient(worker, "bench-1")
    await asyncio.gather(*(client.sample() for _ in range(5)))
    assert [request["id"] for request in worker.seen] == [1, 2, 3, 4, 5]


async def test_progress_is_passed_on_and_unsolicited_events_are_not_taken_for_replies():
    def script(request: dict[str, Any]) -> bytes:
        other = event({"id": 0}, "error", **{"class": "infrastructure", "message": "x"}).replace(
            b"error", b"log"
        )
        series = {"a_s": [1.0], "b_s": [2.0], "parent_s": [[1.1, 2.1]]}
        return other + event(request, "progress", done=3, total=9) + event(request, **series)

    seen: list[tuple[int, int]] = []
    series = await client_of(script).pair(
        "a",
        "b",
        pairs=1,
        calls_per_block=1,
        warm_calls=0,
        first=0,
        time_s=1,
        progress=lambda *x: seen.append(x),
    )
    assert seen == [(3, 9)]
    assert series.parent_s == ((1.1, 2.1),)


async def test_error_keeps_its_class_and_names_program_and_device():
    fields = {"class": "memory", "message": "candidate ran out", "detail": "d", "program": "candidate"}
    client = client_of(lambda request: event(request, "error", **fields))
    with pytest.raises(ProgramFailure, match="candidate ran out, on bench-1") as caught:
        await client.unload("candidate")
    failure = caught.value
    assert (failure.failure_class, failure.program, failure.detail) == (FailureClass.MEMORY, "candidate", "d")
    assert client.usable


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"not json\n", "not JSON"),
        (b"[1]\n", "no event"),
        (b'{"id":77,"event":"done"}\n', "answered request 77"),
        (b'{"id":1,"event":"done"}\n', "something else"),
        (b'{"id":1,"event":"error","class":"new"}\n', "no known class"),
        (b"x" * 30_000 + b"\n", "sent a line of more than"),
        (None, "ended (signal SIGKILL)"),
    ],
)
async def test_nonsense_is_infrastructure_and_the_client_is_done(answer: bytes | None, words: str):
    client = client_of(lambda request: answer)
    with pytest.raises(EvaluationFailure) as caught:
        await client.sample()
    assert caught.value.failure_class is INFRASTRUCTURE
    assert words in caught.value.message
    assert "bench-1" in caught.value.message
    with pytest.raises(EvaluationFailure, match="not running any more"):
        await client.sample()


async def test_death_carries_the_tail_of_stderr():
    with pytest.raises(EvaluationFailure) as caught:
        await client_of(lambda request: None).sample()
    assert caught.value.detail == "last words"


async def test_silence_ends_with_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("edgelab.drivers.worker_client._QUICK_LIMIT_S", 0.05)
    client = client_of(lambda request: b"")
    with pytest.raises(EvaluationFailure, match=r"did not answer sample within 0\.05 s"):
        await client.sample()
    assert not client.usable


async def test_cancelled_request_ends_the_use_of_the_client():
    client = client_of(lambda request: b"")
    task = asyncio.create_task(client.sample())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not client.usable


async def test_other_protocol_version_is_refused_and_the_worker_closed(tmp_path: Path):
    hello = {"protocol": 2, "python": "", "numpy": "", "tvm": "", "cpu_count": 1, "pid": 1, "sandbox": {}}
    worker = ScriptedWorker(lambda request: event(request, **hello))

    class FakeTransport(LocalTransport):
        async def start_worker(self, archive: Path) -> Any:
            return worker

    with pytest.raises(EvaluationFailure, match="speaks protocol 2, expected 1"):
        await WorkerClient.start(FakeTransport(tmp_path), tmp_path)
    assert worker.closed


LIMITS = Limits(memory_bytes=2 << 30, time_s=20, threads=1)
X = np.linspace(1, 2, 1024, dtype=np.float32)


def npz(prefix: str, array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{f"{prefix}0": array})  # type: ignore[arg-type]
    return buffer.getvalue()


@pytest.fixture
async def transport(tmp_path: Path) -> LocalTransport:
    return LocalTransport(tmp_path / "device", "bench-1")


@pytest.fixture
async def client(transport: LocalTransport, tmp_path: Path) -> AsyncIterator[WorkerClient]:
    async with await WorkerClient.start(transport, build_archive(tmp_path / "cache")) as started:
        yield started


@pytest.mark.integration
async def test_whole_evaluation_through_the_archive(
    client: WorkerClient,
    transport: LocalTransport,
    artefacts: Path,  # noqa: F811
):
    artefact = await transport.put(artefacts / "copy.so")
    inputs, expected = await transport.put(npz("in", X)), await transport.put(npz("out", X))
    for program in ("candidate", "baseline"):
        await client.load(program, artefact, LIMITS)
        verification = await client.verify(program, inputs, expected, Tolerance(0, 0), 20)
        assert (verification.ok, verification.total) == (True, 1024)
        await client.prepare_timing(program, inputs)
    series = await client.pair(
        "candidate", "baseline", pairs=20, calls_per_block=100, warm_calls=1, first=0, time_s=30
    )
    assert len(series.a_s) == len(series.b_s) == 20
    block = await client.block("candidate", calls_per_block=100, warm_calls=1, time_s=30)
    assert 0 < block.latency_s * 100 <= block.parent_s
    memory = await client.memory("candidate")
    assert memory.peak_rss_bytes
    assert (await client.unload("candidate")).clean
    await client.shutdown()


@pytest.mark.integration
async def test_failure_of_a_program_leaves_the_client_usable(
    client: WorkerClient,
    transport: LocalTransport,
    artefacts: Path,  # noqa: F811
):
    inputs, expected = await transport.put(npz("in", X)), await transport.put(npz("out", X))
    await client.load("candidate", await transport.put(artefacts / "far_store.so"), LIMITS)
    with pytest.raises(ProgramFailure, match="bench-1") as caught:
        await client.verify("candidate", inputs, expected, Tolerance(0, 0), 20)
    assert caught.value.failure_class is FailureClass.MEMORY
    assert (await client.sample()).memory_available_bytes


@pytest.mark.integration
async def test_nan_arrives_as_nan(client: WorkerClient, transport: LocalTransport, artefacts: Path):  # noqa: F811
    inputs, expected = await transport.put(npz("in", X)), await transport.put(npz("out", X))
    await client.load("candidate", await transport.put(artefacts / "nan.so"), LIMITS)
    verification = await client.verify("candidate", inputs, expected, Tolerance(0, 0), 20)
    assert verification.worst is not None
    assert np.isnan([verification.got, verification.worst.got]).all()  # type: ignore[list-item]


@pytest.mark.integration
async def test_killed_worker_is_infrastructure_and_can_be_replaced(
    client: WorkerClient, transport: LocalTransport, tmp_path: Path
):
    os.kill((await client.hello()).pid, signal.SIGKILL)
    with pytest.raises(EvaluationFailure, match=r"bench-1 ended \(signal SIGKILL\)") as caught:
        await client.sample()
    assert caught.value.failure_class is INFRASTRUCTURE
    async with await WorkerClient.start(transport, build_archive(tmp_path / "cache")) as second:
        assert (await second.hello()).protocol == 1


@pytest.mark.integration
async def test_close_leaves_no_process(client: WorkerClient, transport: LocalTransport, artefacts: Path):  # noqa: F811
    loaded = await client.load("candidate", await transport.put(artefacts / "copy.so"), LIMITS)
    worker = (await client.hello()).pid
    processes = descendants(worker) | {worker}
    assert loaded.pid in processes
    await client.close()
    assert wait_gone(processes) == set()
