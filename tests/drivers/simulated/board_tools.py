"""What tests of simulated boards share: a command on a board without SSH, and a plain connection to one."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh

from edgelab.drivers.simulated.environment import HOME, environment
from edgelab.drivers.simulated.physics import settle
from edgelab.drivers.ssh.address import SshAddress


def run(tree: Path, line: str, given: str = "") -> str:
    """Run a line on the board after its time has gone on; `@` stands for its tree. Returns all it printed."""
    settle(tree)
    done = subprocess.run(
        ["/bin/sh", "-c", line.replace("@", str(tree))],
        input=given, capture_output=True, text=True, errors="replace", cwd=tree / HOME, env=environment(tree),
        timeout=20,
    )  # fmt: skip
    return done.stdout + done.stderr


@contextlib.asynccontextmanager
async def connected(address: SshAddress) -> AsyncIterator[asyncssh.SSHClientConnection]:
    """Connect without anything of EdgeLab's transport."""
    async with asyncssh.connect(
        address.host, address.port, username=address.user, client_keys=[address.key], config=None,
        known_hosts=address.known_hosts, encoding=None, agent_path=None, connect_timeout=10,
    ) as connection:  # fmt: skip
        yield connection


async def said(connection: asyncssh.SSHClientConnection, line: str, given: bytes = b"") -> str:
    """Return all that a line printed, standard output first."""
    done = await connection.run(line, input=given, encoding=None, timeout=20)
    return b"".join((done.stdout or b"", done.stderr or b"")).decode(errors="replace")
