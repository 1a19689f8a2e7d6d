"""Frames between the worker and a program child over a socket pair.

The child runs untrusted code, so the worker's side believes nothing: every length is bounded, every
wait has a deadline, and a frame that is not well formed is `ChannelCorrupt`, never an exception of a parser.

A frame is a fixed header (magic, kind, body length, payload length, two signed 64-bit numbers), a JSON
object of at most 256 KiB and raw bytes. Timing blocks use the two numbers alone, so that no JSON is parsed
around a timed block.
"""

from __future__ import annotations

import enum
import json
import math
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .failures import ControllerGone

MAX_BODY_BYTES = 1 << 18
_SKIP_CHUNK_BYTES = 1 << 16
_HEADER = struct.Struct("<IHxxIQqq")
_MAGIC = 0x45444C57


class Kind(enum.IntEnum):
    """What a frame asks for or answers."""

    READY = 1
    DONE = 2
    FAILED = 3
    LOAD = 10
    UPLOAD = 11
    CALL = 12
    FETCH = 13
    DROP = 14
    BLOCK = 15
    MEMORY = 16
    EXIT = 17
    OPEN = 18
    TAKE = 19
    SPOIL = 20
    KERNEL = 21


class ChannelClosed(Exception):
    """The other process closed its end, which a live program never does."""


class ChannelCorrupt(Exception):
    """The other process sent something that is not a frame of this protocol."""


class DeadlineExceeded(Exception):
    """The other process did not answer, or did not take what was sent, in time."""


@dataclass(frozen=True)
class Frame:
    """One message; `first` and `second` carry counts and clock readings in nanoseconds."""

    kind: int
    body: dict[str, Any] = field(default_factory=dict)
    first: int = 0
    second: int = 0
    payload_bytes: int = 0


def as_bytes(array: np.ndarray) -> memoryview:
    """View a C-contiguous array as bytes, without a copy."""
    return array.reshape(-1).view(np.uint8).data


class Channel:
    """One end of the socket pair. `hangup_fd`, where given, ends every wait when its writer closes."""

    def __init__(self, end: socket.socket, hangup_fd: int | None = None) -> None:
        end.setblocking(False)
        self._socket = end
        self._hangup_fd = hangup_fd
        self._readable = self._poller(select.POLLIN)
        self._writable = self._poller(select.POLLOUT)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(
        self,
        kind: Kind,
        body: dict[str, Any] | None = None,
        *,
        first: int = 0,
        second: int = 0,
        payload: Sequence[memoryview] = (),
        deadline_s: float,
    ) -> None:
        """Send one frame whole; `payload` are views of bytes. `deadline_s` is on time.monotonic.

        Raises ChannelClosed, DeadlineExceeded, ControllerGone.
        """
        encoded = json.dumps(body, separators=(",", ":")).encode() if body else b""
        size = sum(part.nbytes for part in payload)
        self._send_all(_HEADER.pack(_MAGIC, kind, len(encoded), size, first, second) + encoded, deadline_s)
        for part in payload:
            self._send_all(part, deadline_s)

    def receive(self, deadline_s: float, *, payload_bytes: int = 0) -> Frame:
        """Receive a frame whose payload has at most `payload_bytes` bytes; the payload stays unread.

        `deadline_s` is on time.monotonic. Raises ChannelClosed, ChannelCorrupt, DeadlineExceeded,
        ControllerGone.
        """
        header = self._receive_exactly(memoryview(bytearray(_HEADER.size)), deadline_s)
        magic, kind, body_bytes, size, first, second = _HEADER.unpack(header)
        if magic != _MAGIC or body_bytes > MAX_BODY_BYTES or size > payload_bytes:
            raise ChannelCorrupt(f"bad frame header (kind {kind}, body {body_bytes} B, payload {size} B)")
        body: object = {}
        if body_bytes:
            try:
                body = json.loads(bytes(self._receive_exactly(memoryview(bytearray(body_bytes)), deadline_s)))
            except (ValueError, RecursionError) as error:
                raise ChannelCorrupt(f"bad frame body: {error}") from error
        if not isinstance(body, dict):
            raise ChannelCorrupt("the body of a frame is not an object")
        return Frame(kind, body, first, second, size)

    def receive_payload(self, target: memoryview, deadline_s: float) -> None:
        """Fill `target` with the payload bytes that the last received frame announced."""
        self._receive_exactly(target, deadline_s)

    def skip_payload(self, count: int, deadline_s: float) -> None:
        """Read and forget `count` payload bytes."""
        scratch = memoryview(bytearray(min(count, _SKIP_CHUNK_BYTES)))
        while count:
            part = scratch[:count]
            self._receive_exactly(part, deadline_s)
            count -= part.nbytes

    def _poller(self, events: int) -> select.poll:
        poller = select.poll()
        poller.register(self._socket, events)
        if self._hangup_fd is not None:
            poller.register(self._hangup_fd, 0)
        return poller

    def _wait(self, poller: select.poll, deadline_s: float) -> None:
        remaining_ms = None if math.isinf(deadline_s) else (deadline_s - time.monotonic()) * 1000
        ready = poller.poll(remaining_ms) if remaining_ms is None or remaining_ms > 0 else []
        if not ready:
            raise DeadlineExceeded
        if any(fd == self._hangup_fd for fd, _ in ready):
            raise ControllerGone

    def _send_all(self, data: bytes | memoryview, deadline_s: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                self._wait(self._writable, deadline_s)
            except (BrokenPipeError, ConnectionResetError) as error:
                raise ChannelClosed from error

    def _receive_exactly(self, target: memoryview, deadline_s: float) -> memoryview:
        view = target
        while view:
            self._wait(self._readable, deadline_s)
            try:
                count = self._socket.recv_into(view)
            except BlockingIOError:
                continue
            except ConnectionResetError as error:
                raise ChannelClosed from error
            if count == 0:
                raise ChannelClosed
            view = view[count:]
        return target
