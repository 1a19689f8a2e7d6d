"""The worker on a board: sent by its content, started in the board's own runtime, its streams over a channel."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh

from edgelab.drivers.board_folder import BLOBS, CURRENT_RUNTIME, RUNTIMES, WORKERS
from edgelab.drivers.ssh.blobs import BlobUpload
from edgelab.drivers.ssh.link import Process, SshLink
from edgelab.drivers.ssh.link_failures import lost
from edgelab.drivers.transport import LinkFailure
from edgelab.drivers.worker_client import MAX_REPLY_BYTES
from edgelab.errors import NotReadyError

if TYPE_CHECKING:
    from edgelab.drivers.ssh.transport import SshTransport

_CHUNK_BYTES = 1 << 16
_STDERR_TAIL_BYTES = 16_384
_END_LIMIT_S = 5.0
_START_LIMIT_S = 20.0


async def start_worker(
    link: SshLink, transport: SshTransport, blobs: BlobUpload, archive: Path
) -> RemoteWorker:
    """Start the worker from `archive`. Raises `NotReadyError` when the board has no runtime for it yet."""
    current = (await transport.read_many([CURRENT_RUNTIME]))[CURRENT_RUNTIME]
    name = (current or b"").decode(errors="replace").strip()
    python = f"{RUNTIMES}/{name}/bin/python"
    usable = bool(name) and "/" not in name
    if not usable or (await transport.run(("test", "-x", python), _END_LIMIT_S)).exit_code != 0:
        raise NotReadyError(
            f"{link.address.device} has no runtime for the worker yet.",
            advice=f"Put it there: edgelab devices bootstrap {link.address.device}",
        )
    content = await asyncio.to_thread(archive.read_bytes)
    digest = hashlib.sha256(content).hexdigest()
    remote = f"{WORKERS}/{digest}.pyz"
    await blobs.send(content, remote, digest)
    # env= of the protocol is dropped by most servers.
    line = shlex.join(["exec", "env", "TVM_USE_RUNTIME_LIB=1", python, remote, "--blobs", BLOBS])
    line = f"mkdir -p {BLOBS} && chmod 700 {BLOBS} && echo $$ && {line}"
    async with contextlib.AsyncExitStack() as stack:
        process = await stack.enter_async_context(link.process(line))
        group = await _first_line(link, process)
        return RemoteWorker(link, process, group, stack.pop_all())


async def _first_line(link: SshLink, process: Process) -> int | None:
    """Return the group of the worker's processes: a server makes each command the leader of one."""
    try:
        async with asyncio.timeout(_START_LIMIT_S):
            line = await process.stdout.readline()
    except TimeoutError as error:
        message = f"{link.address.device} did not start the worker within {_START_LIMIT_S:g} s."
        raise LinkFailure("timeout", message, advice="Is the board very busy?") from error
    except (OSError, asyncssh.Error) as error:
        raise lost(link.address, str(error)) from error
    return int(line) if line.strip().isdigit() else None


class RemoteWorker:
    """A worker over a channel. The channel's end is the worker's end: it reads its standard input."""

    def __init__(
        self, link: SshLink, process: Process, group: int | None, stack: contextlib.AsyncExitStack
    ) -> None:
        self._link = link
        self._process = process
        self._group = group
        self._stack = stack
        # asyncssh hands out parts of lines that are longer than its window; a real reader joins them.
        self.reader = asyncio.StreamReader(limit=MAX_REPLY_BYTES)
        self._flow = _Flow()
        self.reader.set_transport(self._flow)
        self.writer = _Writer(process)
        self._stderr_tail = bytearray()
        self._closing = False
        self._tasks = [asyncio.create_task(self._read_replies()), asyncio.create_task(self._read_stderr())]

    async def describe_end(self) -> tuple[str, str]:
        """See `WorkerConnection.describe_end`; a link that broke is told from a worker that ended."""
        tail = self._stderr_tail.decode(errors="replace")
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                await self._process.wait_closed()
        except (TimeoutError, OSError, asyncssh.Error):
            return "still running", tail
        tail = self._stderr_tail.decode(errors="replace")
        if self._process.exit_signal:
            return f"signal SIG{self._process.exit_signal[0]}", tail
        if self._process.exit_status is None:
            return "the link broke", tail
        return f"exit {self._process.exit_status}", tail

    async def close(self) -> None:
        """See `WorkerConnection.close`; one that does not hear that its input closed is killed."""
        # It may wait for somebody to read what it says.
        self._closing = True
        self._flow.resume_reading()
        with contextlib.suppress(OSError, asyncssh.Error):
            self._process.stdin.write_eof()
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                await self._process.wait_closed()
        except TimeoutError:
            await self._kill()
        except (OSError, asyncssh.Error):
            pass
        await self._stack.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _kill(self) -> None:
        if self._group is None:
            return
        # Over a link that is broken by now it ends as its input does there.
        with contextlib.suppress(LinkFailure, TimeoutError):
            await self._link.run(f"kill -s KILL -- -{self._group}", b"", _END_LIMIT_S)

    async def _read_replies(self) -> None:
        try:
            while data := await self._process.stdout.read(_CHUNK_BYTES):
                if not self._closing:
                    self.reader.feed_data(data)
                await self._flow.wanted.wait()
        except (OSError, asyncssh.Error):
            pass
        finally:
            self.reader.feed_eof()

    async def _read_stderr(self) -> None:
        with contextlib.suppress(OSError, asyncssh.Error):
            while data := await self._process.stderr.read(_CHUNK_BYTES):
                self._stderr_tail += data
                del self._stderr_tail[:-_STDERR_TAIL_BYTES]


class _Flow(asyncio.ReadTransport):
    """Tells when the reader has had enough, so that what nobody reads stays on the board."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = asyncio.Event()
        self.wanted.set()

    def pause_reading(self) -> None:
        """Take no more until it is wanted."""
        self.wanted.clear()

    def resume_reading(self) -> None:
        """Go on."""
        self.wanted.set()


class _Writer:
    """The channel's standard input as the worker's client wants it."""

    def __init__(self, process: Process) -> None:
        self._stdin = process.stdin

    def write(self, data: bytes, /) -> None:
        """Queue bytes."""
        self._stdin.write(data)

    async def drain(self) -> None:
        """Wait until the queue is short. Raises ConnectionError if the link is broken."""
        try:
            await self._stdin.drain()
        except asyncssh.Error as error:
            raise ConnectionError(str(error)) from error
