from __future__ import annotations

import asyncio
import errno
import os
import sys
from pathlib import Path

import pytest

from edgelab.drivers import local as local_module
from edgelab.drivers.local import LocalTransport
from edgelab.errors import EvaluationFailure, FailureClass
from tests.worker.support import wait_gone


@pytest.fixture
def transport(tmp_path: Path) -> LocalTransport:
    return LocalTransport(tmp_path / "device", "bench-1")


async def test_run_returns_status_and_output(transport: LocalTransport):
    code = "import sys; print('out'); sys.stderr.write('err'); sys.exit(7)"
    result = await transport.run([sys.executable, "-c", code], 30)
    assert (result.exit_code, result.stdout, result.stderr) == (7, b"out\n", b"err")


async def test_run_kills_the_whole_group_at_the_time_limit(transport: LocalTransport, tmp_path: Path):
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! $$ > {pids}.part; mv {pids}.part {pids}; wait"
    with pytest.raises(EvaluationFailure, match="did not end within 1 s on bench-1") as caught:
        await transport.run(["/bin/sh", "-c", script], 1)
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
    assert wait_gone({int(pid) for pid in pids.read_text().split()}) == set()


async def test_cancelled_run_leaves_no_process(transport: LocalTransport, tmp_path: Path):
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    task = asyncio.create_task(transport.run(["/bin/sh", "-c", f"sleep 600 & echo $! $$ > {pids}; wait"], 60))
    async with asyncio.timeout(20):
        started = await asyncio.to_thread(pids.read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert wait_gone({int(pid) for pid in started.split()}) == set()


async def test_missing_command_names_the_device(transport: LocalTransport):
    with pytest.raises(EvaluationFailure, match=r"no-such-command .* on bench-1: No such file"):
        await transport.run(["no-such-command"], 5)


async def test_full_disk_is_infrastructure_and_names_device_and_path(
    transport: LocalTransport, monkeypatch: pytest.MonkeyPatch
):
    def full(folder: Path, content: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(local_module, "store_blob", full)
    with pytest.raises(EvaluationFailure) as caught:
        await transport.put(b"x")
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
    for words in ("bench-1", str(transport.blobs), "No space left on device"):
        assert words in caught.value.message


async def test_files(transport: LocalTransport, tmp_path: Path):
    path = str(tmp_path / "file")
    assert await transport.read_many([path]) == {path: None}
    await transport.write(path, b"content")
    assert await transport.read_many([path]) == {path: b"content"}
    with pytest.raises(EvaluationFailure, match="bench-1"):
        await transport.write(str(tmp_path / "no" / "file"), b"")


@pytest.mark.parametrize("damage", [b"", b"conten", b"content and more", b"CONTENT"], ids=repr)
@pytest.mark.parametrize("from_file", [False, True], ids=["bytes", "file"])
async def test_put_replaces_a_damaged_blob(
    transport: LocalTransport, tmp_path: Path, damage: bytes, from_file: bool
):
    """Another size or the same with another content: what is there under the name is not trusted."""
    source = tmp_path / "source"
    source.write_bytes(b"content")
    content = source if from_file else b"content"
    sha = await transport.put(content)
    path = transport.blobs / sha
    path.write_bytes(damage)
    damaged = path.stat().st_ino
    assert await transport.put(content) == sha
    assert path.read_bytes() == b"content"
    # Replaced, never rewritten in place: a program may have the old file mapped.
    assert path.stat().st_ino != damaged
    assert [file.name for file in transport.blobs.iterdir()] == [sha]


async def test_put_keeps_a_sound_blob(transport: LocalTransport):
    path = transport.blobs / await transport.put(b"content")
    stamp = (path.stat().st_ino, path.stat().st_mtime_ns)
    await transport.put(b"content")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == stamp


async def test_blobs_are_closed_to_other_users(transport: LocalTransport):
    transport.blobs.mkdir(parents=True, mode=0o755)
    path = transport.blobs / await transport.put(b"expected outputs")
    assert transport.blobs.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
