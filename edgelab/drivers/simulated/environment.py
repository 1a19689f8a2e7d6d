"""How a command runs on a simulated board: a real shell, with the board's tools first and its own home."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from edgelab.drivers.profile import load_profile

HOME = "home/lab"
POWER = "BOARD_POWER"
"""The variable by which the processes of a board are known when it is switched off."""


def environment(tree: Path, power: str = "") -> dict[str, str]:
    """Return the environment of every command on the board in `tree`; `power` marks one time it is switched on."""
    return {
        "BOARD": str(tree),
        POWER: power,
        "HOME": str(tree / HOME),
        "USER": "lab",
        "LOGNAME": "lab",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join(
            [str(tree / "bin"), f"{sys.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"]
        ),
    }


def lease_path(tree: Path, profile: str) -> Path:
    """Return where the lock file of a board's lease lies on this machine: under its root, or in its home."""
    lease = load_profile(profile).lease
    return tree / lease.lstrip("/") if lease.startswith("/") else tree / HOME / lease
