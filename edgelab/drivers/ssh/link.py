"""The link to one device: one SSH connection with checked host keys, keepalive and bounded channels."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import asyncssh

from edgelab.drivers.ssh.address import DEFAULT_CONFIG, SshAddress
from edgelab.drivers.ssh.host_keys import HostKeyClient
from edgelab.drivers.ssh.link_failures import failure_of, lost
from edgelab.drivers.transport import CommandResult

CONNECT_LIMIT_S = 10.0
KEEPALIVE_S = 0.8
KEEPALIVE_COUNT = 3
"""A silent peer is found dead after interval x (count + 1), which is 3.2 seconds."""

_CHANNELS = 6
"""OpenSSH allows ten sessions a connection; lease, worker and file transfer hold some of them for long."""

_CHANNEL_WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8)
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
        end_s = asyncio.get_running_loop().time() + CONNECT_LIMIT_S
        tunnel: asyncssh.SSHClientConnection | None = None
        async with contextlib.AsyncExitStack() as stack:
            for hop in _hops(address):
                tunnel = await _open(hop, tunnel, end_s, trust_new_key=False, hop=True)
                stack.callback(tunnel.close)
            link = cls(address, await _open(address, tunnel, end_s, trust_new_key=trust_new_key))
            link._stack = stack.pop_all()
            return link

    @contextlib.asynccontextmanager
    async def process(self, line: str) -> AsyncIterator[Process]:
        """Run a line of the board's shell with its streams open; leaving ends the channel."""
        try:
            process = await self._start(line)
        except (OSError, asyncssh.Error) as error:
            raise failure_of(error, self.address, None) from error
        try:
            yield process
        finally:
            process.close()

    async def _start(self, line: str) -> Process:
        """Open a channel; refused, again: a server counts one until what ran in it is gone."""
        for wait_s in (*_CHANNEL_WAITS_S, None):
            start = self.connection.create_process(
                line, encoding=None, stdin=asyncssh.PIPE, stdout=asyncssh.PIPE, stderr=asyncssh.PIPE
            )
            try:
                return await opened(start, asyncssh.SSHClientProcess.close)
            except asyncssh.ChannelOpenError:
                if wait_s is None or self.connection.is_closed():
                    raise
                await asyncio.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

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


async def opened(opening: Awaitable[First], close: Callable[[First], object]) -> First:
    """Await a channel. Cancelled meanwhile, it is closed: one that nobody knows counts until the link ends."""
    task = asyncio.ensure_future(opening)

    def end(done: asyncio.Future[First]) -> None:
        if not done.cancelled() and done.exception() is None:
            close(done.result())

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(end)
        # The place of this channel may be given away only when it is closed.
        await asyncio.wait({task}, timeout=_CLOSE_LIMIT_S)
        raise


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


def _hops(address: SshAddress) -> list[SshAddress]:
    return [_hop(address, part.strip()) for part in address.jump.split(",") if part.strip()]


def _hop(address: SshAddress, hop: str) -> SshAddress:
    """Return the address of one jump host, `[user@]host[:port]`, with the device's key and known hosts."""
    user, _, rest = hop.rpartition("@")
    host, _, port = rest.partition(":")
    return SshAddress(
        device=f"{address.device} by jump host",
        host=host,
        port=int(port) if port else None,
        user=user,
        key=address.key,
        known_hosts=address.known_hosts,
        config=address.config,
    )


async def _open(
    address: SshAddress,
    tunnel: asyncssh.SSHClientConnection | None,
    end_s: float,
    *,
    trust_new_key: bool,
    hop: bool = False,
) -> asyncssh.SSHClientConnection:
    """Connect to one host until `end_s` of the loop's time. Raises `LinkFailure` that names this host."""
    client: HostKeyClient | None = None
    try:
        async with asyncio.timeout_at(end_s):
            options, files = await asyncio.to_thread(_options, address)
            client = found = HostKeyClient(files, trust_new=trust_new_key)
            return await asyncssh.connect(
                address.host,
                client_factory=lambda: found,
                tunnel=() if tunnel is None else tunnel,
                keepalive_interval=KEEPALIVE_S,
                keepalive_count_max=KEEPALIVE_COUNT,
                connect_timeout=CONNECT_LIMIT_S,
                agent_forwarding=False,
                **options,
            )
    except (OSError, asyncssh.Error, asyncssh.KeyImportError, ValueError) as error:
        raise failure_of(error, address, client, hop=hop) from error


def _options(address: SshAddress) -> tuple[dict[str, Any], list[Path]]:
    """Return what the address says beside the host, and the files of known hosts that hold for it.

    What it leaves open is for asyncssh and its config. Blocks: it reads keys and configuration.
    """
    options: dict[str, Any] = {}
    if address.port is not None:
        options["port"] = address.port
    if address.user:
        options["username"] = address.user
    if address.key:
        options["client_keys"] = [str(Path(address.key).expanduser())]
        # The agent may hold what the file keeps under a passphrase.
        options["ignore_encrypted"] = bool(os.environ.get("SSH_AUTH_SOCK"))
    if address.config is None:
        options["config"] = None
    elif address.config != DEFAULT_CONFIG:
        options["config"] = [str(Path(address.config).expanduser())]
    files = _known_hosts(address, options)
    # asyncssh refuses to go on without one of them, and checks nothing at all where a config says `none`.
    there = [str(path) for path in files if path.exists()]
    options["known_hosts"] = there or asyncssh.import_known_hosts("")
    return options, files


def _known_hosts(address: SshAddress, options: dict[str, Any]) -> list[Path]:
    if address.known_hosts:
        return [Path(address.known_hosts).expanduser()]
    configured = asyncssh.SSHClientConnectionOptions(host=address.host, **options).known_hosts
    names = configured if isinstance(configured, list) else []
    return [Path(str(name)).expanduser() for name in names or ["~/.ssh/known_hosts"]]
