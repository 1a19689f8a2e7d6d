"""Simulated boards for tests: served in this process over real SSH, with chosen faults, through a link that breaks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.keys import key, known_host_line
from edgelab.drivers.simulated.server import USER, BoardServer
from edgelab.drivers.simulated.tree import create
from edgelab.drivers.ssh.address import SshAddress


@dataclass
class ServedBoard:
    """One board and the address by which it is reached."""

    tree: Path
    server: BoardServer
    address: SshAddress

    def set(self, **changes: object) -> None:
        """Switch faults."""
        fault_file.write(self.tree, Faults(**changes))  # type: ignore[arg-type]


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
        lease=str(tree / "tmp/edgelab.lease"),
        config=None,
    )
    try:
        yield ServedBoard(tree, server, address)
    finally:
        await server.close()


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
