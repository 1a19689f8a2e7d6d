from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgelab.worker.channel import (
    MAX_BODY_BYTES,
    Channel,
    ChannelClosed,
    ChannelCorrupt,
    DeadlineExceeded,
    Kind,
    as_bytes,
)
from edgelab.worker.failures import ControllerGone


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


def soon() -> float:
    return time.monotonic() + 5


def header(magic: int = 0x45444C57, kind: int = 2, body: int = 0, payload: int = 0) -> bytes:
    return struct.pack("<IHxxIQqq", magic, kind, body, payload, 0, 0)


def test_a_frame_arrives_as_it_was_sent(ends: tuple[Channel, socket.socket]):
    channel, theirs = ends
    other = Channel(theirs)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    other.send(Kind.DONE, {"a": [1]}, first=-5, second=7, payload=[as_bytes(data)], deadline_s=soon())
    frame = channel.receive(soon(), payload_bytes=24)
    assert (frame.kind, frame.body, frame.first, frame.second) == (Kind.DONE, {"a": [1]}, -5, 7)
    got = np.empty((2, 3), dtype=np.float32)
    channel.receive_payload(as_bytes(got), soon())
    assert (got == data).all()


def test_payload_can_be_skipped(ends: tuple[Channel, socket.socket]):
    channel, theirs = ends
    theirs.sendall(header(payload=70_000) + b"x" * 70_000 + header(kind=3))
    channel.skip_payload(channel.receive(soon(), payload_bytes=70_000).payload_bytes, soon())
    assert channel.receive(soon()).kind == 3


@pytest.mark.parametrize(
    "data",
    [
        b"garbage" * 10,
        header(magic=1),
        header(body=MAX_BODY_BYTES + 1),
        header(payload=1),
        header(payload=2**63),
        header(body=4) + b"nope",
        header(body=2) + b"[]",
        header(body=20_000) + b"[" * 20_000,
        header(body=2) + b"\xff\xfe",
    ],
)
def test_what_is_no_frame_is_corrupt(ends: tuple[Channel, socket.socket], data: bytes):
    channel, theirs = ends
    theirs.sendall(data)
    with pytest.raises(ChannelCorrupt):
        channel.receive(soon())


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_bytes_break_the_receiver(data: bytes):
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    theirs.sendall(data)
    theirs.close()
    # Each frame takes at least 36 of the 300 bytes, so the tenth cannot arrive.
    with pytest.raises((ChannelCorrupt, ChannelClosed)):
        [channel.receive(soon()) for _ in range(10)]
    channel.close()


def test_silence_ends_at_the_deadline(ends: tuple[Channel, socket.socket]):
    channel, theirs = ends
    theirs.sendall(header()[:10])
    with pytest.raises(DeadlineExceeded):
        channel.receive(time.monotonic() + 0.05)


def test_a_reader_that_does_not_read_ends_at_the_deadline(ends: tuple[Channel, socket.socket]):
    channel, _ = ends
    big = as_bytes(np.zeros(8 << 20, dtype=np.uint8))
    with pytest.raises(DeadlineExceeded):
        channel.send(Kind.UPLOAD, payload=[big], deadline_s=time.monotonic() + 0.05)


def test_closed_ends_are_noticed(ends: tuple[Channel, socket.socket]):
    channel, theirs = ends
    theirs.close()
    with pytest.raises(ChannelClosed):
        channel.receive(soon())
    with pytest.raises(ChannelClosed):
        channel.send(Kind.DONE, deadline_s=soon())


def test_waiting_ends_when_the_controller_goes():
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    channel = Channel(ours, hangup_fd=reading)
    os.close(writing)
    with pytest.raises(ControllerGone):
        channel.receive(soon())
    channel.close()
    theirs.close()
    os.close(reading)
