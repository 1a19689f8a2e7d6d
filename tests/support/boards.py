"""Simulated boards for tests, with chosen faults: served in this process over real SSH or behind a real OpenSSH
server, and reached through a link that breaks."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from edgelab.drivers.simulated import events
from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.environment import lease_path
from edgelab.drivers.simulated.events import Event
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.keys import key, known_host_line
from edgelab.drivers.simulated.server import USER, BoardServer
from edgelab.drivers.simulated.tree import create
from edgelab.drivers.ssh.address import SshAddress
from tests.support.openssh import openssh


@dataclass
class BoardPlace:
    """One board and the address by which it is reached."""

    tree: Path
    address: SshAddress

    def set(self, **changes: object) -> None:
        """Switch faults."""
        fault_file.write(self.tree, Faults(**changes))  # type: ignore[arg-type]

    def happen(self, event: Event) -> None:
        """Let something happen to the board once."""
        events.trigger(self.tree, event)


@dataclass
class ServedBoard(BoardPlace):
    """A board that this process serves."""

    server: BoardServer


@contextlib.asynccontextmanager
async def served(folder: Path, profile: str = "rk3588", **changes: object) -> AsyncIterator[ServedBoard]:
    """Serve one board in `folder` on loopback."""
    tree = folder / "tree"
    await asyncio.to_thread(create, tree, profile)
    fault_file.write(tree, Faults(**changes))  # type: ignore[arg-type]
    host_key = key(folder / "host_key")
    server = BoardServer(tree, host_key, key(folder / "client_key"))
    await server.start()
    known = folder / "known_hosts"
    known.write_bytes(known_host_line(server.port, host_key))
    address = SshAddress(
        device=f"sim-{profile}",
        host="127.0.0.1",
        port=server.port,
        user=USER,
        key=str(folder / "client_key"),
        known_hosts=str(known),
        root=str(tree),
        lease=str(lease_path(tree, profile)),
        config=None,
    )
    try:
        yield ServedBoard(tree, address, server)
    finally:
        await server.close()


@contextlib.contextmanager
def served_by_openssh(folder: Path, profile: str = "rk3588", **changes: object) -> Iterator[BoardPlace]:
    """Serve one board in `folder` behind a real OpenSSH server; of the link's faults only the delay counts.

    Each command starts an interpreter there, which lets the board's time go on.
    """
    tree = (folder / "tree").absolute()
    create(tree, profile)
    fault_file.write(tree, Faults(**changes))  # type: ignore[arg-type]
    shell = folder / "board_shell"
    code = Path(__file__).parents[2]
    argv = shlex.join([sys.executable, "-m", "edgelab.drivers.simulated.board_shell", str(tree)])
    shell.write_text(f"#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(code))}\nexec {argv}\n")
    shell.chmod(0o755)
    with openssh(folder / "sshd", settings=[f"ForceCommand {shell}"]) as server:
        address = SshAddress(
            device=f"openssh-{profile}",
            host="127.0.0.1",
            port=server.port,
            user=server.user,
            key=str(server.key),
            known_hosts=str(server.known_hosts),
            root=str(tree),
            lease=str(lease_path(tree, profile)),
            config=None,
        )
        yield BoardPlace(tree, address)


@dataclass
class Proxy:
    """A TCP proxy in front of a server: `silence` swallows everything without a word, `cut` resets."""

    target: int
    port: int = 0
    silent: bool = False
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def silence(self) -> None:
        """Pass nothing on any more, as a pulled cable does."""
        self.silent = True

    def cut(self) -> None:
        """Reset every connection."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on."""
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers |= {writer, back}
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer), return_exceptions=True)
        for one in (writer, back):
            one.close()
            self._writers.discard(one)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            if not self.silent:
                writer.write(data)
                await writer.drain()


@contextlib.asynccontextmanager
async def proxied(port: int) -> AsyncIterator[Proxy]:
    """Put a proxy in front of `port`."""
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        proxy.cut()
        server.close()
