"""The event sink: order, completeness, and failures that are not lost."""

from __future__ import annotations

import pytest

from edgelab.errors import NotReadyError
from edgelab.events import LogLine
from edgelab.runs.sink import EventSink
from edgelab.store.reader import StoreReader
from edgelab.store.writer import StoreWriter


async def test_leaving_the_sink_writes_everything_in_order(tmp_path):
    database = tmp_path / "edgelab.db"
    bodies = [LogLine(text=str(index)) for index in range(3000)]
    with StoreWriter(database) as writer:
        async with EventSink(writer, "r1") as sink:
            for body in bodies:
                sink.emit(body)
        with StoreReader(database) as reader:
            assert [event.body for event in reader.events_after(0, limit=5000)] == bodies


class _FullDisk:
    def append(self, run_id, bodies) -> None:
        raise NotReadyError("Cannot write the store: database or disk is full.")


async def test_a_failed_write_is_raised_when_the_sink_is_left():
    with pytest.raises(NotReadyError, match="full"):
        async with EventSink(_FullDisk(), "r1") as sink:  # type: ignore[arg-type]
            sink.emit(LogLine(text="lost?"))


async def test_a_failed_write_is_raised_by_the_next_event():
    sink = EventSink(_FullDisk(), "r1")  # type: ignore[arg-type]
    await sink.__aenter__()
    sink.emit(LogLine(text="first"))
    with pytest.raises(NotReadyError):
        await sink.__aexit__(None, None, None)
    with pytest.raises(NotReadyError):
        sink.emit(LogLine(text="second"))
