"""Whether a host's key is the one that is known: unknown and changed are told apart, and trust is explicit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import asyncssh

KeyProblem = Literal["", "unknown", "changed", "revoked"]


class HostKeyClient(asyncssh.SSHClient):
    """Asked by asyncssh about a host key that it does not find among the known ones of `files`.

    `files` are all that asyncssh looks into, also those that ~/.ssh/config names: a key that changed would
    pass for a new one otherwise. A new one that is trusted is written into the first.
    """

    def __init__(self, files: Sequence[Path], *, trust_new: bool) -> None:
        self.files = tuple(files)
        self._trust_new = trust_new
        self.problem: KeyProblem = ""
        self.fingerprint = ""
        self.file = self.files[0]

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Refuse the key, and remember why; a new one is written down when the operator said so."""
        self.fingerprint = f"{key.get_algorithm()} {key.get_fingerprint()}"
        for file in self.files:
            known, revoked = known_keys(file, host, addr, port)
            if known or revoked:
                self.file = file
                self.problem = "revoked" if key in revoked else "changed"
                return False
        if self._trust_new:
            _remember(self.file, host, port, key)
            return True
        self.problem = "unknown"
        return False


def known_keys(
    path: Path, host: str, addr: str, port: int
) -> tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey]]:
    """Return the keys that `path` has for a host, and those it revokes. Raises ValueError for a damaged file."""
    if not path.exists():
        return [], []
    hosts = asyncssh.read_known_hosts(str(path))
    trusted, _, revoked, *_ = hosts.match(host, addr, None if port == 22 else port)
    # asyncssh 2.24 drops what is revoked for this port where nothing is trusted for it.
    *_, at_port = hosts.match(f"[{host}]:{port}", "", None)[:3]
    return list(trusted), [*revoked, *at_port]


def _remember(path: Path, host: str, port: int, key: asyncssh.SSHKey) -> None:
    """Append a host's key, as OpenSSH does; a port other than 22 belongs to the name."""
    name = host if port in (0, 22) else f"[{host}]:{port}"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    line = f"{name} ".encode() + key.export_public_key().strip() + b"\n"
    with path.open("r+b") as file:
        # An editor may have left the last line without an end.
        if file.seek(0, 2):
            file.seek(-1, 2)
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line)
