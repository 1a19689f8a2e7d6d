"""How sudo says no: told from a command that ran through it and failed by itself."""

from __future__ import annotations

_REFUSALS = ("is not in the sudoers file", "is not allowed to", "sudo: not found", "sudo: command not found")


def sudo_refusal(stderr: bytes) -> str | None:
    """Return sudo's own words when it refused; None when the command itself was run."""
    text = stderr.decode(errors="replace").strip()
    for line in text.splitlines():
        if line.startswith("sudo:") or any(words in line for words in _REFUSALS):
            return line.removeprefix("sudo:").strip().rstrip(".")
    return None
