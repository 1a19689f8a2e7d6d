"""A real OpenSSH server on loopback with its own configuration, login folder, and keys that are nobody's."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
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
    home: Path


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_key(path: Path, passphrase: str = "") -> asyncssh.SSHKey:
    """Write a new private key, and its public half beside it; returns what can be read without passphrase."""
    # asyncssh alone encrypts no keys.
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-C", "", "-N", passphrase, "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    public = path.with_name(f"{path.name}.pub")
    return asyncssh.read_public_key(str(public)) if passphrase else asyncssh.read_private_key(str(path))


@contextlib.contextmanager
def openssh(
    folder: Path,
    *,
    settings: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    before: str = "",
) -> Iterator[OpenSsh]:
    """Run a server whose files lie in `folder`; `settings` are further lines of its configuration.

    Commands and file transfers begin in `folder/home`, which is their HOME, unless a setting forces another
    command: so nothing is written into the login folder of whoever runs the tests. They get `variables`, and
    the lines `before` of a shell run first (a file system of their own, another PATH).
    """
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    if not any(line.startswith("ForceCommand") for line in settings):
        settings = [*settings, f"ForceCommand {_login(folder, home, variables or {}, before)}"]
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
        yield OpenSsh(port, _user(), folder / "client", known, log, process, home)
    finally:
        process.terminate()
        process.wait(10)


def _login(folder: Path, home: Path, variables: Mapping[str, str], before: str) -> Path:
    """Write what every session runs first."""
    exports = " ".join(
        f"{name}={shlex.quote(value)}" for name, value in {**variables, "HOME": str(home)}.items()
    )
    servers = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")
    sftp = next((path for path in servers if Path(path).exists()), servers[0])
    login = folder / "login"
    login.write_text(
        f"#!/bin/sh\n{before}\ncd {shlex.quote(str(home))} && export {exports} || exit 1\n"
        f'case "$SSH_ORIGINAL_COMMAND" in\ninternal-sftp*) exec {sftp};;\n'
        '*) exec /bin/sh -c "$SSH_ORIGINAL_COMMAND";;\nesac\n'
    )
    login.chmod(0o755)
    return login


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
