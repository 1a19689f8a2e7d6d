"""A real OpenSSH server on loopback with its own configuration, and keys that are nobody's."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

SSHD = "/usr/sbin/sshd"
needs_openssh = pytest.mark.skipif(not Path(SSHD).exists(), reason="no OpenSSH server (sshd) on this machine")


@dataclass(frozen=True)
class OpenSsh:
    """A running server: where it is, the key that it lets in, and the file that knows its own key."""

    port: int
    user: str
    key: Path
    known_hosts: Path
    log: Path
    process: subprocess.Popen


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_key(path: Path, passphrase: str | None = None) -> asyncssh.SSHKey:
    """Write a new private key, and its public half beside it."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    path.write_bytes(key.export_private_key("openssh", passphrase=passphrase))
    path.chmod(0o600)
    path.with_suffix(".pub").write_bytes(key.export_public_key())
    return key


@contextlib.contextmanager
def openssh(folder: Path, *, settings: Sequence[str] = ()) -> Iterator[OpenSsh]:
    """Run a server whose files lie in `folder`; `settings` are further lines of its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    host_key, client_key = write_key(folder / "host"), write_key(folder / "client")
    (folder / "authorized").write_bytes(client_key.export_public_key())
    port = free_port()
    known = folder / "known_hosts"
    known.write_bytes(f"[127.0.0.1]:{port} ".encode() + host_key.export_public_key())
    config = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder / 'host'}",
        f"AuthorizedKeysFile {folder / 'authorized'}",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin yes",
        "StrictModes no",
        "UsePAM no",
        "PidFile none",
        "PrintMotd no",
        *settings,
        *([] if any("sftp" in line for line in settings) else ["Subsystem sftp internal-sftp"]),
    ]
    (folder / "sshd_config").write_text("\n".join(config) + "\n")
    # sshd wants its folder for privilege separation; a fresh container has none.
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    log = folder / "sshd.log"
    process = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log.open("wb"),
        start_new_session=True,
    )
    try:
        _wait_for(port, process, log)
        yield OpenSsh(port, _user(), folder / "client", known, log, process)
    finally:
        process.terminate()
        process.wait(10)


def _user() -> str:
    import getpass

    return getpass.getuser()


def _wait_for(port: int, process: subprocess.Popen, log: Path) -> None:
    end_s = time.monotonic() + 10
    while time.monotonic() < end_s:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError(f"sshd did not start: {log.read_text()}")


def has_setsid() -> bool:
    """Whether this machine has setsid(1), as every board has."""
    return shutil.which("setsid") is not None
