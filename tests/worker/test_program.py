"""The worker's side against children that misbehave; the fork server is replaced by plain forks."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from edgelab.worker.channel import Channel, Frame, Kind
from edgelab.worker.compare import Tolerance
from edgelab.worker.failures import WorkerFailure
from edgelab.worker.program import Limits, Place, Program, memory_reading
from edgelab.worker.verification import run_and_compare

pytestmark = pytest.mark.integration

Behaviour = Callable[[Channel, socket.socket], None]


class ForkingServer:
    """Forks a child that says READY and then behaves as told."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    def fork(self, limits: Limits, place: Place, fds: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                os.dup2(fds[1], 2)
                end = socket.socket(fileno=fds[0])
                channel = Channel(end)
                channel.send(Kind.READY, {"seccomp": "on"}, deadline_s=time.monotonic() + 5)
                self.behaviour(channel, end)
            finally:
                os._exit(0)
        return pid

    def reap(self, pid: int, grace_s: float) -> tuple[int, bool]:
        deadline_s = time.monotonic() + grace_s
        while time.monotonic() < deadline_s:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status, False
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1], True


@pytest.fixture
def program_with() -> Iterator[Callable[[Behaviour], Program]]:
    programs: list[Program] = []
    reading, writing = os.pipe()

    def make(behaviour: Behaviour) -> Program:
        limits = Limits(memory_bytes=1 << 30, time_s=5, threads=1)
        programs.append(Program("p", ForkingServer(behaviour), limits, reading, reading))  # type: ignore[arg-type]
        return programs[-1]

    yield make
    for program in programs:
        program.close()
    os.close(reading)
    os.close(writing)


def answering(*frames: dict) -> Behaviour:
    """A child that answers request after request with the given frames."""

    def behave(channel: Channel, end: socket.socket) -> None:
        for fields in frames:
            frame = channel.receive(time.monotonic() + 10, payload_bytes=1 << 30)
            channel.skip_payload(frame.payload_bytes, time.monotonic() + 10)
            channel.send(deadline_s=time.monotonic() + 10, **fields)
        channel.receive(time.monotonic() + 60)

    return behave


def raw(data: bytes) -> Behaviour:
    def behave(channel: Channel, end: socket.socket) -> None:
        channel.receive(time.monotonic() + 10)
        end.setblocking(True)
        end.sendall(data)
        channel.receive(time.monotonic() + 60)

    return behave


@pytest.mark.parametrize(
    "behaviour",
    [
        raw(b'{"id":1,"event":"done","ok":true}\n' * 3),
        raw(struct.pack("<IHxxIQqq", 0x45444C57, 2, 2**32 - 1, 0, 0, 0)),
        raw(struct.pack("<IHxxIQqq", 0x45444C57, 2, 0, 2**62, 0, 0)),
        answering({"kind": Kind.UPLOAD}),
        answering({"kind": Kind.FAILED, "body": {"class": "infrastructure", "message": "", "detail": ""}}),
        answering({"kind": Kind.FAILED, "body": {"class": 5}}),
    ],
    ids=["text", "huge_body", "huge_payload", "wrong_kind", "forged_class", "no_class"],
)
def test_garbage_is_a_hack_and_ends_the_child(
    program_with: Callable[[Behaviour], Program], behaviour: Behaviour
):
    program = program_with(behaviour)
    with pytest.raises(WorkerFailure, match="tampered") as caught:
        program.request(Kind.LOAD, 10)
    assert (caught.value.failure_class, caught.value.program) == ("hack", "p")
    assert (program.alive, program.exit) == (False, "signal SIGKILL")


def test_silence_is_a_timeout_and_ends_the_child(program_with: Callable[[Behaviour], Program]):
    program = program_with(lambda channel, end: signal.pause())
    with pytest.raises(WorkerFailure, match=r"within 0\.1 s") as caught:
        program.request(Kind.LOAD, 0.1)
    assert caught.value.failure_class == "timeout"
    assert program.exit == "signal SIGKILL"
    with pytest.raises(WorkerFailure, match="not running any more"):
        program.request(Kind.LOAD, 0.1)


def test_closed_channel_of_a_living_child_is_a_hack(program_with: Callable[[Behaviour], Program]):
    def behave(channel: Channel, end: socket.socket) -> None:
        channel.receive(time.monotonic() + 10)
        end.shutdown(socket.SHUT_RDWR)
        signal.pause()

    program = program_with(behave)
    with pytest.raises(WorkerFailure, match="closed its channel") as caught:
        program.request(Kind.LOAD, 10)
    assert caught.value.failure_class == "hack"


def test_death_carries_what_the_child_said(program_with: Callable[[Behaviour], Program]):
    def behave(channel: Channel, end: socket.socket) -> None:
        channel.receive(time.monotonic() + 10)
        os.write(2, b"double free or corruption")
        os.abort()

    program = program_with(behave)
    with pytest.raises(WorkerFailure, match="heap damaged") as caught:
        program.request(Kind.LOAD, 10)
    assert (caught.value.failure_class, caught.value.detail) == ("memory", "double free or corruption")


def test_reported_failure_leaves_the_child_alive(program_with: Callable[[Behaviour], Program]):
    body = {"class": "memory", "message": "has no room", "detail": "d"}
    program = program_with(answering({"kind": Kind.FAILED, "body": body}, {"kind": Kind.DONE}))
    with pytest.raises(WorkerFailure, match=r"p has no room \(limit 1073741824 bytes\)"):
        program.request(Kind.LOAD, 10)
    assert program.request(Kind.DROP, 10) == Frame(Kind.DONE)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"structure": "tensor"},
        {"structure": "tensor", "outputs": [5]},
        {"structure": "tensor", "outputs": [["x", 1]]},
    ],
)
def test_wrong_description_of_outputs_is_a_hack(program_with: Callable[[Behaviour], Program], body: dict):
    program = program_with(answering({"kind": Kind.DONE}, {"kind": Kind.DONE, "body": body}))
    zeros = np.zeros(4, dtype=np.float32)
    with pytest.raises(WorkerFailure) as caught:
        run_and_compare(program, [zeros], [zeros], Tolerance(0, 0), 5, poisoned=True)
    assert caught.value.failure_class == "hack"


def test_output_of_another_size_than_described_is_a_hack(program_with: Callable[[Behaviour], Program]):
    described = {"structure": "tensor", "outputs": [[[4], "float32"]]}
    data = memoryview(b"\0" * 15)
    program = program_with(
        answering(
            {"kind": Kind.DONE},
            {"kind": Kind.DONE, "body": described},
            {"kind": Kind.DONE, "payload": [data]},
        )
    )
    zeros = np.zeros(4, dtype=np.float32)
    with pytest.raises(WorkerFailure, match="tampered") as caught:
        run_and_compare(program, [zeros], [zeros], Tolerance(0, 0), 5, poisoned=True)
    assert caught.value.failure_class == "hack"


def test_memory_is_read_from_the_kernel():
    resident, peak = memory_reading(os.getpid(), "VmRSS"), memory_reading(os.getpid(), "VmHWM")
    assert resident is not None
    assert peak is not None
    assert peak >= resident > 1 << 20
    assert memory_reading(1 << 22, "VmRSS") is None
