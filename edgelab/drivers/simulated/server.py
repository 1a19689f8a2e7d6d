"""Serves simulated boards by SSH: one port each, real shells behind them, faults on the way."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import asyncssh

from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.environment import HOME, environment
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.physics import settle

_CHUNK_BYTES = 1 << 16
_WATCH_S = 0.25
_END_LIMIT_S = 2.0
USER = "lab"


class BoardServer:
    """One board: its tree, its port, its open connections. `start` once, then `close`."""

    def __init__(self, tree: Path, host_key: asyncssh.SSHKey, client_key: asyncssh.SSHKey) -> None:
        self.tree = tree
        self.port = 0
        self._host_key = host_key
        self._client_key = client_key
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._watching: asyncio.Task[None] | None = None
        # Two at once would count time twice and read each other's half-made states.
        self._settling = asyncio.Lock()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; `port` 0 takes a free one."""
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            port,
            server_factory=lambda: _Login(self._connections),
            server_host_keys=[self._host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(
                self._client_key.export_public_key().decode()
            ),
            process_factory=self._command,
            sftp_factory=lambda channel: _Files(channel, self.tree),
            encoding=None,
            allow_scp=False,
            keepalive_interval=5,
        )
        self.port = self._acceptor.get_port()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """End the server with all connections; their commands end with them."""
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        for connection in tuple(self._connections):
            connection.abort()
        if self._acceptor is not None:
            self._acceptor.close()
            await self._acceptor.wait_closed()

    def drop(self) -> None:
        """Cut every connection, as a link that breaks does."""
        for connection in tuple(self._connections):
            connection.abort()

    async def _watch(self) -> None:
        """Let time go on while somebody is connected, and cut links when that fault is on."""
        while True:
            if self._connections:
                if fault_file.read(self.tree).drop_link:
                    self.drop()
                else:
                    await self._settle()
            await asyncio.sleep(_WATCH_S)

    async def _settle(self) -> Faults:
        async with self._settling:
            return await asyncio.to_thread(settle, self.tree)

    async def _command(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        faults = await self._settle()
        await asyncio.sleep(faults.delay_s)
        shell = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            process.command or "exit 0",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.tree / HOME,
            env=environment(self.tree),
            start_new_session=True,
        )
        try:
            async with asyncio.TaskGroup() as group:
                feeding = group.create_task(_feed(process, shell))
                group.create_task(_pass_on(shell.stdout, process.stdout, faults))
                group.create_task(_pass_on(shell.stderr, process.stderr, Faults()))
                status = await shell.wait()
                feeding.cancel()
            process.exit(status if status >= 0 else 128 - status)
        except* (OSError, asyncssh.Error):
            # The link is gone, and with it whoever wanted the answer.
            process.close()
        finally:
            await asyncio.shield(_end(shell))


async def _end(shell: asyncio.subprocess.Process) -> None:
    """End a command as sshd does: its input closes, which what it started may see; then it is killed."""
    assert shell.stdin is not None
    shell.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_LIMIT_S):
            await shell.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGKILL)
    await shell.wait()


async def _feed(process: asyncssh.SSHServerProcess[bytes], shell: asyncio.subprocess.Process) -> None:
    """Give the command what comes over the channel; the channel's end is its input's end."""
    assert shell.stdin is not None
    try:
        while data := await process.stdin.read(_CHUNK_BYTES):
            shell.stdin.write(data)
            await shell.stdin.drain()
    except (OSError, asyncssh.Error):
        pass
    finally:
        shell.stdin.close()


async def _pass_on(
    source: asyncio.StreamReader | None, target: asyncssh.SSHWriter[bytes], faults: Faults
) -> None:
    assert source is not None
    left = faults.cut_bytes
    for start in range(0, faults.garbage_bytes, _CHUNK_BYTES):
        target.write(b"x" * min(_CHUNK_BYTES, faults.garbage_bytes - start))
        await target.drain()
    while data := await source.read(_CHUNK_BYTES):
        if left is not None:
            data, left = data[:left], left - len(data[:left])
        target.write(data)
        await target.drain()


class _Login(asyncssh.SSHServer):
    def __init__(self, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._connections = connections
        self._mine: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._mine = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._mine is not None:
            self._connections.discard(self._mine)


class _Files(asyncssh.SFTPServer):
    """Files of the board: relative paths are the login folder's; a full disk takes nothing."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], tree: Path) -> None:
        super().__init__(channel)
        self._tree = tree

    def map_path(self, path: bytes) -> bytes:
        """Return where a path of the protocol lies on this machine."""
        return os.fsencode(self._tree / HOME / os.fsdecode(path.lstrip(b"/")))

    def reverse_map_path(self, path: bytes) -> bytes:
        """Return what a path of this machine is called over the protocol."""
        return path.removeprefix(os.fsencode(self._tree / HOME)) or b"/"

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Write, unless the disk is full."""
        if fault_file.read(self._tree).free_disk_kib == 0:
            raise OSError(28, "No space left on device")
        return super().write(file_obj, offset, data)  # type: ignore[return-value]
