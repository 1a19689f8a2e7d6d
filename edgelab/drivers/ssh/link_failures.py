"""Every way in which a link can fail, as one problem, one sentence and what to do."""

from __future__ import annotations

import socket

import asyncssh

from edgelab.drivers.ssh.address import SshAddress
from edgelab.drivers.ssh.host_keys import HostKeyClient
from edgelab.drivers.transport import LinkFailure


def failure_of(error: Exception, address: SshAddress, client: HostKeyClient | None) -> LinkFailure:
    """Return the failure that `error` means for the device at `address`."""
    device, host = address.device, address.host
    where = f"{device} ({host})"
    if client is not None and client.problem:
        return _of_host_key(client, where, device)
    if isinstance(error, socket.gaierror):
        advice = "Check the host in lab.toml, and the network."
        return LinkFailure("name", f"{where}: the name {host!r} has no address.", advice=advice)
    if isinstance(error, ConnectionRefusedError):
        message = f"{where}: nobody listens at port {address.port or 22}."
        return LinkFailure("refused", message, advice="Is the board up, and its SSH server?")
    if isinstance(error, asyncssh.PermissionDenied):
        advice = "Check user and key in lab.toml, and ~/.ssh/authorized_keys on the board."
        return LinkFailure("login", f"{where}: the login was refused ({error.reason}).", advice=advice)
    if isinstance(error, asyncssh.KeyEncryptionError):
        message = f"{where}: the key {address.key} needs a passphrase."
        return LinkFailure("login", message, advice="Load it into an ssh-agent: ssh-add KEY.")
    if isinstance(error, asyncssh.KeyImportError):
        message = f"{where}: the key {address.key} cannot be read as a key: {error}."
        return LinkFailure("login", message, advice="Name a private key in lab.toml.")
    if isinstance(error, FileNotFoundError | PermissionError):
        message = f"{where}: {error.filename} cannot be read: {error.strerror}."
        return LinkFailure("login", message, advice="Check key and known_hosts in lab.toml.")
    if isinstance(error, TimeoutError):
        message = f"{where} did not answer in time."
        return LinkFailure("timeout", message, advice="Is the board up, and reachable from here?")
    if isinstance(
        error, asyncssh.ConnectionLost | asyncssh.DisconnectError | ConnectionError | BrokenPipeError
    ):
        return lost(address, str(error))
    return LinkFailure("other", f"{where}: {error or type(error).__name__}.", advice="See ssh -v.")


def _of_host_key(client: HostKeyClient, where: str, device: str) -> LinkFailure:
    if client.problem == "changed":
        return LinkFailure(
            "changed_host_key",
            f"{where}: its host key is another one than before, now {client.fingerprint}.",
            advice="Somebody set the board up anew, or is in between. If it is the board: ssh-keygen -R HOST.",
        )
    return LinkFailure(
        "unknown_host_key",
        f"{where}: its host key was never seen: {client.fingerprint}.",
        advice=f"Compare it on the board, then: edgelab devices trust {device}, or connect once with ssh.",
    )


def lost(address: SshAddress, why: str = "") -> LinkFailure:
    """Return the failure of a link that was up."""
    said = f" ({why.strip().rstrip('.')})" if why.strip() else ""
    message = f"The link to {address.device} ({address.host}) broke{said}."
    return LinkFailure("lost", message, advice="EdgeLab connects again by itself where it waits for it.")
