"""Whether a host's key is the one that is known: unknown and changed are told apart, and trust is explicit."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import asyncssh

KeyProblem = Literal["", "unknown", "changed"]


class HostKeyClient(asyncssh.SSHClient):
    """Asked by asyncssh about a host key that it does not find among the known ones."""

    def __init__(self, known_hosts: Path, *, trust_new: bool) -> None:
        self._known_hosts = known_hosts
        self._trust_new = trust_new
        self.problem: KeyProblem = ""
        self.fingerprint = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Refuse the key, and remember why; a new one is written down when the operator said so."""
        self.fingerprint = f"{key.get_algorithm()} {key.get_fingerprint()}"
        if known_keys(self._known_hosts, host, addr, port):
            self.problem = "changed"
            return False
        if self._trust_new:
            _remember(self._known_hosts, host, port, key)
            return True
        self.problem = "unknown"
        return False


def known_keys(path: Path, host: str, addr: str, port: int) -> list[asyncssh.SSHKey]:
    """Return the keys that `path` has for a host. Raises ValueError for a damaged file."""
    if not path.exists():
        return []
    trusted, *_ = asyncssh.read_known_hosts(str(path)).match(host, addr, port)
    return list(trusted)


def _remember(path: Path, host: str, port: int, key: asyncssh.SSHKey) -> None:
    """Append a host's key, as OpenSSH does; a port other than 22 belongs to the name."""
    name = host if port in (0, 22) else f"[{host}]:{port}"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("ab") as file:
        path.chmod(0o600)
        file.write(f"{name} ".encode() + key.export_public_key().strip() + b"\n")
