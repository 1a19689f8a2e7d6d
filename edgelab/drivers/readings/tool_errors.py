"""Why a tool failed, by what it printed."""

from __future__ import annotations

import re
from typing import Literal

ToolError = Literal[
    "need_root", "permission_denied", "invalid_argument", "sudo_password", "not_sudoer", "gpu_max_failed"
]

# The order matters: `jetson_clocks` and nvpmodel tell the general reason, such as EINVAL, as well.
_WORDS: tuple[tuple[ToolError, str], ...] = (
    ("not_sudoer", r"is not in the sudoers file|is not allowed to (run|execute)|may not run sudo"),
    (
        "sudo_password",
        r"sudo: (a|no) (terminal|password|tty)|sudo: [0-9]{1,3} incorrect password|you must have a tty"
        r"|Sorry, try again",
    ),
    ("need_root", r"as a root user|must be run as root|[Nn]eeds? root|are you root\?"),
    (
        "gpu_max_failed",
        r"Failed to max (d?GPU|gpu)|failed to write PARAM GPU: ARG MAX_FREQ"
        r"|Error writing [0-9]{1,19} to [^\s:]{0,500}gpu[^\s:]{0,500}/max_freq",
    ),
    ("invalid_argument", r"[Ii]nvalid argument"),
    ("permission_denied", r"[Pp]ermission denied|Operation not permitted"),
)


def read_tool_error(text: str) -> ToolError | None:
    """Return the first known reason; None when the text names none.

    `gpu_max_failed` is jetson_clocks' `Error: Failed to max GPU frequency!`, or nvpmodel's for the same node.
    """
    return next((name for name, words in _WORDS if re.search(words, text)), None)
