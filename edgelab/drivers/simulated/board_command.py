"""One command on a simulated board: a real shell behind a channel, which ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import asyncssh

from edgelab.drivers.simulated.environment import HOME
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.link_faults import CHUNK_BYTES, Pace, faulty

_END_LIMIT_S = 2.0

Process = asyncssh.SSHServerProcess[bytes]


class BoardCommand:
    """Runs what a channel asks for in a process group of its own; `pace` is what the link carries each way."""

    def __init__(
        self, process: Process, faults: Faults, plugged: asyncio.Event, pace: tuple[Pace, Pace]
    ) -> None:
        self._process = process
        self._faults = faults
        self._plugged = plugged
        self._there, self._back = pace

    async def run(self, tree: Path, variables: Mapping[str, str]) -> None:
        """Run it to its end, or to the channel's."""
        shell = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", self._process.command or "exit 0"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=tree / HOME,
            env=variables,
            start_new_session=True,
        )
        try:
            await self._carry(shell)
        except* (OSError, asyncssh.Error):
            # The link is gone, and with it whoever wanted the answer.
            self._process.close()
        finally:
            await asyncio.shield(_end(shell))

    async def _carry(self, shell: asyncio.subprocess.Process) -> None:
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(self._feed(shell))
            working = group.create_task(self._output(shell))
            gone = group.create_task(self._process.wait_closed())
            await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                status = working.result()
                if status >= 0:
                    self._process.exit(status)
                else:
                    self._process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
            else:
                # A board's command ends with its channel; what watches its input may end it in good order.
                await _end(shell)
            for task in (feeding, working, gone):
                task.cancel()

    async def _output(self, shell: asyncio.subprocess.Process) -> int:
        """Pass on what the command prints, until nothing of it can print any more; returns its exit status."""
        assert shell.stdout is not None
        assert shell.stderr is not None
        async with asyncio.TaskGroup() as group:
            printed = faulty(_chunks(shell.stdout), self._faults)
            group.create_task(self._pass_on(printed, self._process.stdout))
            group.create_task(self._pass_on(_chunks(shell.stderr), self._process.stderr))
        return await shell.wait()

    async def _feed(self, shell: asyncio.subprocess.Process) -> None:
        """Give the command what comes over the channel, also signals; the channel's end is its input's end."""
        assert shell.stdin is not None
        try:
            while True:
                try:
                    size = self._there.slice_bytes(self._faults.bytes_per_s)
                    data = await self._process.stdin.read(size)
                except asyncssh.TerminalSizeChanged:
                    continue
                except asyncssh.BreakReceived:
                    _signal(shell, signal.SIGINT)
                    continue
                except asyncssh.SignalReceived as received:
                    _signal(shell, getattr(signal, f"SIG{received.signal}", signal.SIGTERM))
                    continue
                if not data:
                    return
                await self._there.pass_on(len(data), self._faults.bytes_per_s)
                shell.stdin.write(data)
                await shell.stdin.drain()
        except (OSError, asyncssh.Error):
            # The command does not read any more, or the link is gone.
            return
        finally:
            shell.stdin.close()

    async def _pass_on(self, source: AsyncIterator[bytes], target: asyncssh.SSHWriter[bytes]) -> None:
        async for data in source:
            size = self._back.slice_bytes(self._faults.bytes_per_s)
            for start in range(0, len(data), size):
                piece = data[start : start + size]
                await self._back.pass_on(len(piece), self._faults.bytes_per_s)
                await self._plugged.wait()
                target.write(piece)
                await target.drain()


async def _chunks(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while data := await stream.read(CHUNK_BYTES):
        yield data


def _signal(shell: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(shell.pid, number)


async def _end(shell: asyncio.subprocess.Process) -> None:
    """End a command as sshd does: its input closes, which what it started may see; then its group is killed."""
    assert shell.stdin is not None
    shell.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_LIMIT_S):
            await shell.wait()
    _signal(shell, signal.SIGKILL)
    await shell.wait()
