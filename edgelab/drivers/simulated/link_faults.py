"""What a bad link does to the bytes of a simulated board: it delays, limits, cuts, adds and swallows them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncssh

from edgelab.drivers.simulated.faults import Faults

CHUNK_BYTES = 1 << 16
_SLICES_PER_S = 10
_KEEPALIVE_S = 5.0


class Pace:
    """Lets so many bytes a second through. One for each direction of a link."""

    def __init__(self) -> None:
        self._free_s = 0.0

    def slice_bytes(self, bytes_per_s: int | None) -> int:
        """Return how many bytes to pass on at once."""
        return CHUNK_BYTES if bytes_per_s is None else max(1, bytes_per_s // _SLICES_PER_S)

    async def pass_on(self, count: int, bytes_per_s: int | None) -> None:
        """Wait until the link has carried `count` more bytes."""
        if bytes_per_s is None:
            return
        now_s = asyncio.get_running_loop().time()
        self._free_s = max(self._free_s, now_s) + count / bytes_per_s
        await asyncio.sleep(self._free_s - now_s)


async def faulty(source: AsyncIterator[bytes], faults: Faults) -> AsyncIterator[bytes]:
    """Yield a command's output as the link hands it on: garbage first, then as much of it as gets through."""
    for start in range(0, faults.garbage_bytes, CHUNK_BYTES):
        yield b"x" * min(CHUNK_BYTES, faults.garbage_bytes - start)
    left = faults.cut_bytes
    async for data in source:
        if left is not None:
            data = data[:left]
            left -= len(data)
        # What follows is read all the same: the command must not wait for ever.
        if data:
            yield data


class Cable:
    """The connections of one board; pulled, it carries nothing, and nobody at either end is told."""

    def __init__(self) -> None:
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self.plugged = asyncio.Event()
        self.plugged.set()

    def follow(self, blackhole: bool) -> None:
        """Pull the cable, or plug it in again."""
        if blackhole == self.plugged.is_set():
            (self.plugged.clear if blackhole else self.plugged.set)()
            for connection in tuple(self.connections):
                self._follow(connection)

    def add(self, connection: asyncssh.SSHServerConnection) -> None:
        """Count a new connection; behind a pulled cable it gets no further than the greeting."""
        self.connections.add(connection)
        self._follow(connection)

    def cut(self) -> None:
        """Reset every connection."""
        for connection in tuple(self.connections):
            connection.abort()

    def _follow(self, connection: asyncssh.SSHServerConnection) -> None:
        # asyncssh offers no way to stop reading a whole connection; asyncio's transport does.
        transport = connection._transport
        if transport is None or transport.is_closing():
            return
        assert isinstance(transport, asyncio.Transport)
        if self.plugged.is_set():
            transport.resume_reading()
            connection.set_keepalive(_KEEPALIVE_S)
        else:
            transport.pause_reading()
            connection.set_keepalive(0)
