"""Why a tool failed, by what it printed."""

from __future__ import annotations

import re
from typing import Literal

ToolError = Literal[
    "need_root", "permission_denied", "invalid_argument", "sudo_password", "not_sudoer", "gpu_max_failed"
]

_WORDS: tuple[tuple[ToolError, str], ...] = (
    ("sudo_password", r"sudo: (a|no) (terminal|password|tty)|sudo: [0-9]+ incorrect password"),
    ("not_sudoer", r"is not in the sudoers file|is not allowed to (run|execute)"),
    ("need_root", r"as a root user|must be run as root|[Nn]eeds? root|are you root\?"),
    ("gpu_max_failed", r"failed to write PARAM GPU: ARG MAX_FREQ|Error writing [0-9]+ to \S*gpu\S*max_freq"),
    ("invalid_argument", r"Invalid argument"),
    ("permission_denied", r"Permission denied|Operation not permitted"),
)


def read_tool_error(text: str) -> ToolError | None:
    """Return the first known reason; None when the text names none."""
    return next((name for name, words in _WORDS if re.search(words, text)), None)
