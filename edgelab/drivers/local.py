"""Transport to this machine: plain files and child processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

from edgelab.drivers.local_files import prepare_blob_folder, read_some, store_blob, write_file
from edgelab.drivers.transport import CommandResult
from edgelab.drivers.worker_client import MAX_REPLY_BYTES
from edgelab.errors import EvaluationFailure, FailureClass

_FILES_LIMIT_S = 10.0
_COPY_LIMIT_S = 300.0
_END_LIMIT_S = 5.0
_STDERR_TAIL_BYTES = 16_384
_LINE_LIMIT_BYTES = 1 << 16


class LocalTransport:
    """This machine as a device. `folder` holds what a board would have on its disk."""

    def __init__(self, folder: Path, device: str = "local") -> None:
        self._folder = folder
        self._device = device

    @property
    def device(self) -> str:
        """Name of the device."""
        return self._device

    @property
    def blobs(self) -> Path:
        """The folder of blobs; closed to other users, since it holds expected outputs."""
        return self._folder / "blobs"

    async def run(self, argv: Sequence[str], time_limit_s: float) -> CommandResult:
        """See `Transport.run`."""
        async with self._process(argv, f"run {argv[0]}") as process:
            try:
                async with asyncio.timeout(time_limit_s):
                    stdout, stderr = await process.communicate()
            except TimeoutError as error:
                message = f"{argv[0]} did not end within {time_limit_s:g} s on {self._device} and was killed."
                raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error
            return CommandResult(process.returncode or 0, stdout, stderr)

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """See `Transport.read_many`."""
        with self._explained("read", ", ".join(paths)):
            async with asyncio.timeout(_FILES_LIMIT_S):
                return await asyncio.to_thread(read_some, tuple(paths))

    async def write(self, path: str, data: bytes) -> None:
        """See `Transport.write`."""
        with self._explained("write", path):
            async with asyncio.timeout(_FILES_LIMIT_S):
                await asyncio.to_thread(write_file, Path(path), data)

    async def put(self, content: bytes | Path) -> str:
        """See `Transport.put`."""
        with self._explained("store a blob in", str(self.blobs)):
            async with asyncio.timeout(_COPY_LIMIT_S):
                return await asyncio.to_thread(store_blob, self.blobs, content)

    async def start_worker(self, archive: Path) -> LocalWorker:
        """See `Transport.start_worker`; the interpreter is the one that runs EdgeLab."""
        with self._explained("start the worker with its blobs in", str(self.blobs)):
            await asyncio.to_thread(prepare_blob_folder, self.blobs)
            argv = (sys.executable, str(archive), "--blobs", str(self.blobs))
            process = await _start(argv, asyncio.subprocess.PIPE, MAX_REPLY_BYTES)
        return LocalWorker(process)

    @contextlib.asynccontextmanager
    async def _process(self, argv: Sequence[str], what: str) -> AsyncIterator[asyncio.subprocess.Process]:
        with self._explained(what, "in a process of its own"):
            process = await _start(argv, asyncio.subprocess.DEVNULL, _LINE_LIMIT_BYTES)
        try:
            yield process
        finally:
            await end_group(process)

    @contextlib.contextmanager
    def _explained(self, what: str, path: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            message = f"Could not {what} {path} on {self._device}: no answer from the file system."
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error
        except OSError as error:
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"Could not {what} {path} on {self._device}: {error.strerror or error}.",
                advice="Free disk space or permissions there, then run again.",
            ) from error


class LocalWorker:
    """A worker process and its streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self.reader = process.stdout
        self.writer = process.stdin
        self._stderr_tail = bytearray()
        self._drain = asyncio.create_task(self._collect_stderr())

    @property
    def pid(self) -> int:
        """Process id of the worker, which leads a process group."""
        return self._process.pid

    async def describe_end(self) -> tuple[str, str]:
        """See `WorkerConnection.describe_end`."""
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                code = await self._process.wait()
                await asyncio.shield(self._drain)
        except TimeoutError:
            return "still running", self._tail()
        if code < 0:
            return f"signal {signal.Signals(-code).name}", self._tail()
        return f"exit {code}", self._tail()

    async def close(self) -> None:
        """See `WorkerConnection.close`."""
        self.writer.close()
        await end_group(self._process)
        self._drain.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._drain

    def _tail(self) -> str:
        return self._stderr_tail.decode(errors="replace")

    async def _collect_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        while data := await stream.read(4096):
            self._stderr_tail += data
            del self._stderr_tail[:-_STDERR_TAIL_BYTES]


async def _start(argv: Sequence[str], stdin: int, limit_bytes: int) -> asyncio.subprocess.Process:
    """Start a process that leads a group. Raises OSError; a cancellation meanwhile leaves no process."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=limit_bytes,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled in the middle, asyncio would end the process but not what that has started already.
        with contextlib.suppress(OSError):
            await end_group(await starting)
        raise


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process together with its group and reap it, also while being cancelled."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())
