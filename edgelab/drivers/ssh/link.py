"""The link to one device: one SSH connection with checked host keys, keepalive and bounded channels."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import asyncssh

from edgelab.drivers.ssh.address import DEFAULT_CONFIG, SshAddress
from edgelab.drivers.ssh.host_keys import HostKeyClient
from edgelab.drivers.ssh.link_failures import failure_of, lost
from edgelab.drivers.transport import CommandResult

CONNECT_LIMIT_S = 10.0
KEEPALIVE_S = 1.0
KEEPALIVE_COUNT = 3
"""A silent peer is found dead after interval x (count + 1), which is four seconds."""

_CHANNELS = 6
"""OpenSSH allows ten sessions a connection; lease, worker and file transfer hold some of them for long."""

_CLOSE_LIMIT_S = 2.0
_MOST_OUTPUT_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 16

First = TypeVar("First")
Second = TypeVar("Second")

Process = asyncssh.SSHClientProcess[bytes]


class OutputTooLong(Exception):
    """A command printed more than anything EdgeLab asks for could."""


class SshLink:
    """One connection, made by `connect`. Whatever goes wrong with it raises `LinkFailure`."""

    def __init__(self, address: SshAddress, connection: asyncssh.SSHClientConnection) -> None:
        self.address = address
        self.connection = connection
        self._stack = contextlib.AsyncExitStack()
        self._slots = asyncio.Semaphore(_CHANNELS)

    @classmethod
    async def connect(cls, address: SshAddress, *, trust_new_key: bool = False) -> SshLink:
        """Connect, through the jump hosts where there are some."""
        hops = [part.strip() for part in address.jump.split(",") if part.strip()]
        tunnels: list[asyncssh.SSHClientConnection] = []
        client: HostKeyClient | None = None
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                for hop in hops:
                    hop_address = _hop(address, hop)
                    tunnels.append(await _open(hop_address, None, tunnels[-1] if tunnels else None))
                client = HostKeyClient(_known_hosts(address), trust_new=trust_new_key)
                connection = await _open(address, client, tunnels[-1] if tunnels else None)
        except (OSError, asyncssh.Error, asyncssh.KeyImportError, ValueError) as error:
            for tunnel in reversed(tunnels):
                tunnel.close()
            raise failure_of(error, address, client) from error
        link = cls(address, connection)
        for tunnel in tunnels:
            link._stack.callback(tunnel.close)
        return link

    @contextlib.asynccontextmanager
    async def process(self, line: str) -> AsyncIterator[Process]:
        """Run a line of the board's shell with its streams open; leaving ends the channel."""
        try:
            process = await self.connection.create_process(
                line, encoding=None, stdin=asyncssh.PIPE, stdout=asyncssh.PIPE, stderr=asyncssh.PIPE
            )
        except (OSError, asyncssh.Error) as error:
            raise failure_of(error, self.address, None) from error
        try:
            yield process
        finally:
            process.close()

    async def run(self, line: str, given: bytes, time_limit_s: float) -> CommandResult:
        """Run a line, give it `given` on its input (which stays open) and wait for its end.

        Raises TimeoutError after `time_limit_s`, `OutputTooLong`, and `LinkFailure` when the link breaks.
        """
        async with self._slots, asyncio.timeout(time_limit_s), self.process(line) as process:
            try:
                process.stdin.write(given)
                stdout, stderr = await together(_read_all(process.stdout), _read_all(process.stderr))
                await process.wait_closed()
            except (OSError, asyncssh.Error) as error:
                raise lost(self.address, str(error)) from error
            if process.returncode is None:
                # asyncssh gives no status, and no exception, when the link broke in the middle.
                raise lost(self.address)
            return CommandResult(process.returncode, stdout, stderr)

    async def close(self) -> None:
        """End the connection, gracefully where the peer still answers."""
        self.connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_LIMIT_S):
                await self.connection.wait_closed()
        self.connection.abort()
        await self._stack.aclose()


async def together(
    first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]
) -> tuple[First, Second]:
    """Await both at once; the first exception of either is raised as it is, after the other was cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = group.create_task(first), group.create_task(second)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return tasks[0].result(), tasks[1].result()


async def _read_all(stream: asyncssh.SSHReader[bytes]) -> bytes:
    data = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        data += chunk
        if len(data) > _MOST_OUTPUT_BYTES:
            raise OutputTooLong
    return bytes(data)


def _known_hosts(address: SshAddress) -> Path:
    return Path(address.known_hosts or "~/.ssh/known_hosts").expanduser()


def _hop(address: SshAddress, hop: str) -> SshAddress:
    """Return the address of one jump host, `[user@]host[:port]`, with the device's key and known hosts."""
    user, _, rest = hop.rpartition("@")
    host, _, port = rest.partition(":")
    return SshAddress(
        device=address.device,
        host=host,
        port=int(port) if port else None,
        user=user,
        key=address.key,
        known_hosts=address.known_hosts,
        config=address.config,
    )


async def _open(
    address: SshAddress, client: HostKeyClient | None, tunnel: asyncssh.SSHClientConnection | None
) -> asyncssh.SSHClientConnection:
    found = client or HostKeyClient(_known_hosts(address), trust_new=False)
    options = await asyncio.to_thread(_options, address)
    if tunnel is not None:
        options["tunnel"] = tunnel
    return await asyncssh.connect(
        address.host,
        client_factory=lambda: found,
        keepalive_interval=KEEPALIVE_S,
        keepalive_count_max=KEEPALIVE_COUNT,
        connect_timeout=CONNECT_LIMIT_S,
        agent_forwarding=False,
        **options,
    )


def _options(address: SshAddress) -> dict[str, Any]:
    """Return what the address says beside the host; what it leaves open is for asyncssh and its config."""
    options: dict[str, Any] = {}
    if address.port is not None:
        options["port"] = address.port
    if address.user:
        options["username"] = address.user
    if address.key:
        options["client_keys"] = [str(Path(address.key).expanduser())]
    if address.known_hosts:
        path = _known_hosts(address)
        options["known_hosts"] = str(path) if path.exists() else asyncssh.import_known_hosts("")
    if address.config is None:
        options["config"] = None
    elif address.config != DEFAULT_CONFIG:
        options["config"] = [str(Path(address.config).expanduser())]
    return options
