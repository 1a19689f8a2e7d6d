"""How sudo says no: told from a command that ran through it and failed by itself."""

from __future__ import annotations

_REFUSALS = ("is not in the sudoers file", "is not allowed to", "sudo: not found", "sudo: command not found")

_WARNINGS = ("unable to resolve host", "unable to send audit message", "setrlimit(")
"""What sudo complains about and runs the command all the same: a board that was renamed says it every time."""


def sudo_refusal(stderr: bytes) -> str | None:
    """Return sudo's own words when it refused; None when the command itself was run.

    Of several lines the last one sums up (`1 incorrect password attempt`).
    """
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines()]
    refusals = [
        line
        for line in lines
        if (line.startswith("sudo:") or any(words in line for words in _REFUSALS))
        and not any(words in line for words in _WARNINGS)
    ]
    return refusals[-1].removeprefix("sudo:").strip().rstrip(".") if refusals else None
