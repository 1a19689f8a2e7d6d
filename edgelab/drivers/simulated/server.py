"""Serves simulated boards by SSH: one port each, real shells behind them, faults on the way."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from pathlib import Path

import asyncssh
import msgspec

from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.board_command import BoardCommand, Process
from edgelab.drivers.simulated.board_files import BoardFiles
from edgelab.drivers.simulated.environment import environment, lease_path
from edgelab.drivers.simulated.events import FOLDER
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.held_lease import HeldLease
from edgelab.drivers.simulated.leftovers import end_all
from edgelab.drivers.simulated.link_faults import Cable, Pace
from edgelab.drivers.simulated.physics import settle
from edgelab.drivers.simulated.tree import load

USER = "lab"

_BROKEN = 70
"""Exit status of a command on a board whose files are damaged (EX_SOFTWARE of sysexits.h)."""

_WATCH_S = 0.25
_SETTLED_WITHIN_S = 1.0
"""Nodes of a board that somebody is connected to are never older: the worker reads them without a command."""


class BoardServer:
    """One board: its tree, its port, its open connections. `start` once, then `close`.

    `power` marks the processes of the board, so that none outlives it.
    """

    def __init__(
        self, tree: Path, host_key: asyncssh.SSHKey, client_key: asyncssh.SSHKey, *, power: str = ""
    ) -> None:
        self.tree = tree
        self.port = 0
        self._host_key = host_key
        self._client_key = client_key
        self._power = power or secrets.token_hex(8)
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._cable = Cable()
        self._pace = (Pace(), Pace())
        self._lease = HeldLease(lease_path(tree, load(tree).profile))
        self._watching: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._settling = asyncio.Lock()
        self._settled_s = 0.0
        self._seen_ns: tuple[int, int] = (0, 0)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._cable.connections)

    @property
    def reachable(self) -> bool:
        """Whether the link carries anything now."""
        return self._cable.plugged.is_set()

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; `port` 0 takes a free one."""
        await self._settle()
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            port,
            server_factory=lambda: _Login(self._cable, self._connected),
            server_host_keys=[self._host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(
                self._client_key.export_public_key().decode()
            ),
            process_factory=self._command,
            sftp_factory=lambda channel: BoardFiles(channel, self.tree, self._pace[0]),
            encoding=None,
            allow_scp=False,
            keepalive_interval=5,
        )
        self.port = self._acceptor.get_port()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """End the server with all connections; the processes of its board end with them."""
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        self._cable.cut()
        if self._acceptor is not None:
            self._acceptor.close()
            await self._acceptor.wait_closed()
        self._lease.drop()
        await asyncio.to_thread(end_all, self._power)

    def drop(self) -> None:
        """Cut every connection, as a link that breaks does."""
        self._cable.cut()

    async def _watch(self) -> None:
        """Let time go on while somebody is connected, and see to faults that are switched meanwhile."""
        while True:
            await self._connected.wait()
            if not self.connections:
                self._connected.clear()
                continue
            late = asyncio.get_running_loop().time() - self._settled_s > _SETTLED_WITHIN_S
            # What is wrong with the tree is told to whoever asks for a command.
            with contextlib.suppress(OSError, msgspec.DecodeError):
                if late or self._switched() != self._seen_ns:
                    await self._settle()
            await asyncio.sleep(_WATCH_S)

    def _switched(self) -> tuple[int, int]:
        """Return when faults were switched and events asked for, in nanoseconds since the epoch."""
        return fault_file.written_ns(self.tree), (self.tree / FOLDER).stat().st_mtime_ns

    async def _settle(self) -> Faults:
        """Bring the board up to now, with its lease and its link."""
        async with self._settling:
            switched = self._switched()
            settled = await asyncio.to_thread(settle, self.tree)
            # What it took away itself is no news.
            self._seen_ns = (switched[0], self._switched()[1])
            self._settled_s = asyncio.get_running_loop().time()
        faults, rebooted = settled.faults, "reboot" in settled.events
        if rebooted:
            # Its lock file is gone with everything else in /tmp.
            self._lease.drop()
        self._lease.follow(faults.lease_holder)
        self._cable.follow(faults.blackhole)
        if faults.drop_link or rebooted:
            self._cable.cut()
        if rebooted:
            await asyncio.to_thread(end_all, self._power)
        return faults

    async def _command(self, process: Process) -> None:
        try:
            faults = await self._settle()
        except (OSError, msgspec.DecodeError) as error:
            process.stderr.write(f"The simulation of this board failed: {error}\n".encode())
            process.exit(_BROKEN)
            return
        await asyncio.sleep(faults.delay_s)
        command = BoardCommand(process, faults, self._cable.plugged, self._pace)
        await command.run(self.tree, environment(self.tree, self._power))


class _Login(asyncssh.SSHServer):
    def __init__(self, cable: Cable, connected: asyncio.Event) -> None:
        self._cable = cable
        self._connected = connected
        self._mine: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._mine = conn
        self._cable.add(conn)
        self._connected.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._mine is not None:
            self._cable.connections.discard(self._mine)
