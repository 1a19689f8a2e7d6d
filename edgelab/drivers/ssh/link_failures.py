"""Every way in which a link can fail, as one problem, one sentence and what to do."""

from __future__ import annotations

import errno
import re
import socket
from pathlib import Path

import asyncssh

from edgelab.drivers.ssh.address import SshAddress
from edgelab.drivers.ssh.host_keys import HostKeyClient
from edgelab.drivers.transport import LinkFailure


def failure_of(
    error: Exception, address: SshAddress, client: HostKeyClient | None, *, hop: bool = False
) -> LinkFailure:
    """Return the failure that `error` means for the device at `address`, or for a jump host (`hop`)."""
    device, host = address.device, address.host
    where = f"{device} ({host})"
    if client is not None and client.problem:
        trust = "connect to it once with ssh" if hop else f"edgelab devices trust {device}"
        return _of_host_key(client, where, trust)
    if isinstance(error, socket.gaierror):
        advice = "Check the host in lab.toml, and the network."
        return LinkFailure("name", f"{where}: the name {host!r} has no address.", advice=advice)
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        # Refused by asyncssh itself (a revoked key), or at a jump host that only ~/.ssh/config knows.
        message = f"{where}: a host key on the way is not trusted: {error.reason}."
        return LinkFailure("changed_host_key", message, advice=f"See what ssh says: ssh -v {host}")
    if isinstance(error, asyncssh.PermissionDenied | asyncssh.KeyImportError):
        return _of_login(error, address, where)
    if isinstance(error, ConnectionRefusedError) or _errnos(error) == {errno.ECONNREFUSED}:
        port = f"port {address.port}" if address.port else "its SSH port"
        message = f"{where}: nobody listens at {port}."
        return LinkFailure("refused", message, advice="Is the board up, and its SSH server?")
    if isinstance(error, FileNotFoundError | PermissionError):
        message = f"{where}: {error.filename} cannot be read: {error.strerror}."
        return LinkFailure("login", message, advice="Check key and known_hosts in lab.toml.")
    if isinstance(error, TimeoutError) or _errnos(error) & {errno.EHOSTUNREACH, errno.ENETUNREACH}:
        message = f"{where} did not answer in time, or cannot be reached from here."
        return LinkFailure("timeout", message, advice="Is the board up, and reachable from here?")
    if isinstance(
        error, asyncssh.ConnectionLost | asyncssh.DisconnectError | ConnectionError | BrokenPipeError
    ):
        return lost(address, str(error))
    return LinkFailure("other", f"{where}: {error or type(error).__name__}.", advice="See ssh -v.")


def _errnos(error: Exception) -> set[int]:
    """Return the reasons of a connection that failed; of several addresses asyncio gives nothing but text."""
    if not isinstance(error, OSError):
        return set()
    if error.errno is not None:
        return {error.errno}
    return {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}


def _of_login(
    error: asyncssh.PermissionDenied | asyncssh.KeyImportError, address: SshAddress, where: str
) -> LinkFailure:
    if _is_locked(error) or (isinstance(error, asyncssh.PermissionDenied) and _needs_passphrase(address.key)):
        return _locked_key(address, where)
    if isinstance(error, asyncssh.PermissionDenied):
        advice = "Check user and key in lab.toml, and ~/.ssh/authorized_keys on the board."
        return LinkFailure("login", f"{where}: the login was refused ({error.reason}).", advice=advice)
    message = f"{where}: the key {address.key} cannot be read as a key: {error}."
    return LinkFailure("login", message, advice="Name a private key in lab.toml.")


def _needs_passphrase(key: str) -> bool:
    """Whether the login failed with a key that nobody unlocked: it was left out, for the agent to offer it."""
    if not key:
        return False
    try:
        asyncssh.read_private_key(str(Path(key).expanduser()))
    except (OSError, asyncssh.KeyImportError) as error:
        return _is_locked(error)
    return False


def _is_locked(error: Exception) -> bool:
    """Whether a key wants a passphrase; where none was given, asyncssh 2.24 says so by its text alone."""
    return isinstance(error, asyncssh.KeyEncryptionError) or (
        isinstance(error, asyncssh.KeyImportError) and "passphrase" in str(error).lower()
    )


def _locked_key(address: SshAddress, where: str) -> LinkFailure:
    message = f"{where}: the key {address.key} needs a passphrase."
    return LinkFailure("login", message, advice=f"Load it into an ssh-agent: ssh-add {address.key}")


def _of_host_key(client: HostKeyClient, where: str, trust: str) -> LinkFailure:
    if client.problem == "unknown":
        return LinkFailure(
            "unknown_host_key",
            f"{where}: its host key was never seen: {client.fingerprint} is not in {client.file}.",
            advice=f"Compare it with the host's own (ssh-keygen -lf), then: {trust}.",
        )
    if client.problem == "revoked":
        message = f"{where}: its host key {client.fingerprint} is revoked in {client.file}."
        return LinkFailure(
            "changed_host_key", message, advice="Do not use it; give the board a new host key."
        )
    return LinkFailure(
        "changed_host_key",
        f"{where}: its host key is another one than {client.file} has, now {client.fingerprint}.",
        advice="Somebody set the board up anew, or is in between. If it is the board: "
        f"ssh-keygen -f {client.file} -R HOST, as that file names it.",
    )


def lost(address: SshAddress, why: str = "") -> LinkFailure:
    """Return the failure of a link that was up."""
    said = f" ({why.strip().rstrip('.')})" if why.strip() else ""
    message = f"The link to {address.device} ({address.host}) broke{said}."
    return LinkFailure("lost", message, advice="EdgeLab connects again by itself where it waits for it.")
