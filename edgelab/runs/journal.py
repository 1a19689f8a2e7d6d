"""The journal: what a run has finished, one JSON object a line, on the disk before anything counts on it.

The store is what people look at; the journal is what a resumed run trusts. A verdict goes to the journal
first, so a process killed between the two neither loses a measurement nor takes it twice.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from edgelab.errors import NotReadyError
from edgelab.results import RunResult
from edgelab.store.records import MeasurementRecord


class Attempt(msgspec.Struct, frozen=True, tag_field="kind", tag="attempt"):
    """A process began (or began again) to work on the run."""

    pid: int
    time_s: float


class Outcome(msgspec.Struct, frozen=True, tag_field="kind", tag="outcome"):
    """The run's verdict, with its measurement when one was taken."""

    result: RunResult
    measurement: MeasurementRecord | None = None


Entry = Attempt | Outcome
_decoder = msgspec.json.Decoder(Entry)


class Journal:
    """An append-only file of entries."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, entry: Entry) -> None:
        """Write `entry` and wait for the disk. Raises `NotReadyError` when it cannot be written."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                _write_all(descriptor, self._separator() + msgspec.json.encode(entry) + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NotReadyError(
                f"Cannot write the journal {self._path}: {error.strerror}.",
                advice="Free disk space there; `edgelab runs resume` goes on afterwards.",
            ) from error

    def _separator(self) -> bytes:
        """A line torn by a kill or a full disk must not swallow the entry that follows it."""
        size = self._path.stat().st_size
        if size == 0:
            return b""
        with self._path.open("rb") as stream:
            stream.seek(size - 1)
            return b"" if stream.read(1) == b"\n" else b"\n"

    def entries(self) -> list[Entry]:
        """Return all whole entries; torn lines are passed over."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found: list[Entry] = []
        for line in lines:
            try:
                found.append(_decoder.decode(line))
            except msgspec.DecodeError:
                continue
        return found

    def outcome(self) -> Outcome | None:
        """Return the verdict, None while there is none."""
        return next((entry for entry in self.entries() if isinstance(entry, Outcome)), None)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
