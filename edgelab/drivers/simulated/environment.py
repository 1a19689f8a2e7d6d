"""How a command runs on a simulated board: a real shell, with the board's tools first and its own home."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOME = "home/lab"


def environment(tree: Path) -> dict[str, str]:
    """Return the environment of every command on the board in `tree`."""
    return {
        "BOARD": str(tree),
        "HOME": str(tree / HOME),
        "USER": "lab",
        "LOGNAME": "lab",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "PATH": os.pathsep.join(
            [str(tree / "bin"), f"{sys.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"]
        ),
    }
