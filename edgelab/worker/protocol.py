"""The line protocol between the controller and the worker: one JSON object a line, bounded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_LINE_BYTES = 1 << 20
MAX_TEXT_CHARS = 200
MAX_TEXTS = 100
MAX_WHOLE = 1 << 53
MAX_NUMBER = 1e18
_READ_BYTES = 1 << 16


class MalformedRequest(Exception):
    """A line that is no request. `request_id` is its id if that could be read, else 0."""

    def __init__(self, message: str, request_id: int = 0) -> None:
        super().__init__(message)
        self.request_id = request_id


@dataclass(frozen=True)
class Request:
    """One request: `id` answers it, `op` names the operation, `fields` is everything else."""

    id: int
    op: str
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """The field `name`, a text of 1 to 200 characters. Raises MalformedRequest."""
        value = self.fields.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT_CHARS:
            raise MalformedRequest(
                f"{self.op}: {name} is a text of 1 to {MAX_TEXT_CHARS} characters", self.id
            )
        return value

    def texts(self, name: str) -> list[str]:
        """The field `name`, a list of 1 to 100 texts like those of `text`. Raises MalformedRequest."""
        values = self.fields.get(name)
        if not isinstance(values, list) or not 0 < len(values) <= MAX_TEXTS:
            raise MalformedRequest(f"{self.op}: {name} is a list of 1 to {MAX_TEXTS} texts", self.id)
        return [Request(self.id, self.op, {name: value}).text(name) for value in values]

    def number(self, name: str) -> float:
        """The field `name`, a number from 0 to `MAX_NUMBER`. Raises MalformedRequest."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_NUMBER:
            raise MalformedRequest(f"{self.op}: {name} is a number from 0 to {MAX_NUMBER:g}", self.id)
        return float(value)

    def whole(self, name: str, least: int, most: int = MAX_WHOLE) -> int:
        """The field `name`, a whole number from `least` to `most`. Raises MalformedRequest."""
        value = self.fields.get(name)
        if type(value) is not int or not least <= value <= most:
            raise MalformedRequest(f"{self.op}: {name} is a whole number from {least} to {most}", self.id)
        return value

    def part(self, name: str) -> Request:
        """The object in the field `name` as a request of its own. Raises MalformedRequest."""
        value = self.fields.get(name)
        if not isinstance(value, dict):
            raise MalformedRequest(f"{self.op}: {name} is an object", self.id)
        return Request(self.id, f"{self.op}.{name}", value)


class LineSplitter:
    """Cut a byte stream into lines of at most `MAX_LINE_BYTES`; the rest of a longer line is skipped."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the complete lines without their newline; None stands for a line that was too long."""
        self._buffer += data
        while True:
            end = self._buffer.find(b"\n")
            if end < 0:
                if len(self._buffer) > MAX_LINE_BYTES:
                    self._buffer.clear()
                    self._skipping = True
                return
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            too_long = self._skipping or len(line) > MAX_LINE_BYTES
            self._skipping = False
            yield None if too_long else line


def parse_request(line: bytes | None) -> Request:
    """Parse one line. Raises MalformedRequest for anything but an object with a positive id and an op."""
    if line is None:
        raise MalformedRequest(f"a request line is longer than {MAX_LINE_BYTES} bytes")
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedRequest(f"a request line is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise MalformedRequest("a request is a JSON object")
    request_id, op = body.pop("id", None), body.pop("op", None)
    if type(request_id) is not int or request_id <= 0:
        raise MalformedRequest("a request has a positive whole number as its id")
    if not isinstance(op, str):
        raise MalformedRequest("a request names its operation in `op`", request_id)
    return Request(request_id, op, body)


def encode_event(request_id: int, event: str, fields: dict[str, Any]) -> bytes:
    """Encode one reply line. Raises ValueError for NaN or infinity, which JSON does not have."""
    body = {"id": request_id, "event": event, **fields}
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Controller:
    """The worker's end of the protocol, on two file descriptors that no child inherits."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self._writing = writing
        self._lines = LineSplitter()

    def lines(self) -> Iterator[bytes | None]:
        """Yield request lines until the other end closes; blocks in between."""
        while data := os.read(self.reading, _READ_BYTES):
            yield from self._lines.feed(data)

    def send(self, request_id: int, event: str, **fields: Any) -> None:
        """Write one reply line whole. Raises BrokenPipeError if nobody listens any more."""
        view = memoryview(encode_event(request_id, event, fields))
        while view:
            view = view[os.write(self._writing, view) :]
