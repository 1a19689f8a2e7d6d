"""Keys of the simulated boards: made once a folder, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import asyncssh


def key(path: Path) -> asyncssh.SSHKey:
    """Return the private key at `path`, made when it is absent. Raises OSError."""
    if path.exists():
        return asyncssh.read_private_key(str(path))
    made = asyncssh.generate_private_key("ssh-ed25519")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_bytes(made.export_private_key("openssh"))
    temporary.replace(path)
    return made


def known_host_line(port: int, host_key: asyncssh.SSHKey) -> bytes:
    """Return the line of a known-hosts file for a board on loopback."""
    return f"[127.0.0.1]:{port} ".encode() + host_key.export_public_key()
