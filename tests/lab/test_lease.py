"""The lease: one holder at a time, who and since when, and a dead holder frees it."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import pytest

from edgelab.errors import NotReadyError
from edgelab.lab.lease import holder_of, lease


def silent(_):
    pytest.fail("there was nobody to wait for")


async def test_a_free_device_is_taken_at_once_and_freed(tmp_path):
    path = tmp_path / "device" / "lease"
    assert holder_of(path) is None
    async with lease(path, "r1", silent):
        holder = holder_of(path)
        assert (holder.run, holder.pid) == ("r1", os.getpid())
        assert 0 <= time.time() - holder.since_s < 60
    assert holder_of(path) is None


async def test_the_second_waits_and_is_told_for_whom(tmp_path):
    path, order, waited = tmp_path / "lease", [], []
    first_has_it, first_may_end = asyncio.Event(), asyncio.Event()

    async def first():
        async with lease(path, "r1", silent):
            first_has_it.set()
            await first_may_end.wait()
            order.append("r1 ends")

    def on_wait(holder):
        waited.append(holder.run)
        first_may_end.set()

    async def second():
        await first_has_it.wait()
        async with lease(path, "r2", on_wait):
            order.append("r2 begins")

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(first())
        group.create_task(second())
    assert order == ["r1 ends", "r2 begins"]
    assert waited == ["r1"]


async def test_waiting_can_be_cancelled(tmp_path):
    path = tmp_path / "lease"
    async with lease(path, "r1", silent):
        waiting = asyncio.Event()

        async def wait():
            async with lease(path, "r2", lambda _: waiting.set()):
                pytest.fail("two holders")

        task = asyncio.create_task(wait())
        async with asyncio.timeout(30):
            await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert holder_of(path).run == "r1"


_HOLD = """
import asyncio, sys
from pathlib import Path
from edgelab.lab.lease import lease
async def main():
    async with lease(Path(sys.argv[1]), "r9", lambda _: None):
        sys.stdout.write("held\\n"); sys.stdout.flush()
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_a_killed_holder_frees_the_device(tmp_path):
    path = tmp_path / "lease"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLD, str(path), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        assert await process.stdout.readline() == b"held\n"
        assert holder_of(path).run == "r9"
        process.kill()
        await process.wait()
    assert holder_of(path) is None
    async with lease(path, "r2", silent):
        assert holder_of(path).run == "r2"


async def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotReadyError, match="lease"):
        async with lease(tmp_path / "file" / "lease", "r1", silent):
            pass
