"""Lines `PATH:VALUE`, as `grep -H . NODE...` prints them, as nodes by path; errors of grep and cat apart."""

from __future__ import annotations

import re

import msgspec

# A colon may be part of a path (`/sys/class/devfreq/soc:qcom,gpubw/cur_freq`): then a slash follows it.
_NODE = re.compile(r"(/[^\s:]*(?::[^\s:/]*/[^\s:]*)*):(.*)")
_ERROR = re.compile(
    r"(?:/\S*/)?(?:cat|grep|head|ls|sh|bash|tail|tee): (?:(?:line )?[0-9]{1,6}: )?"
    r"(?:(?:can't|cannot) (?:open|create|access) )?'?([^']{1,1024}?)'?: ([^:]{1,200})"
)


class Nodes(msgspec.Struct, frozen=True):
    """Values by path, lines of a file joined, and for each path that was refused the reason."""

    values: dict[str, str]
    refused: dict[str, str]


def read_node_lines(text: str) -> Nodes:
    """Return the nodes of a capture. Errors are read as GNU's, busybox' and toybox' tools word them."""
    values: dict[str, str] = {}
    refused: dict[str, str] = {}
    for ended in text.split("\n"):
        line = ended.removesuffix("\r")
        if found := _ERROR.fullmatch(line):
            refused[found[1]] = found[2]
        elif found := _NODE.fullmatch(line):
            path, value = found[1], found[2]
            values[path] = f"{values[path]}\n{value}" if path in values else value
    return Nodes(values, refused)


def whole(text: str | None) -> int | None:
    """Return a whole number, None for anything else."""
    said = (text or "").strip()
    return int(said) if re.fullmatch(r"-?[0-9]{1,19}", said) else None


def decimal(text: str | None) -> float | None:
    """Return a decimal number, None for anything else (also NaN and infinity)."""
    said = (text or "").strip()
    return float(said) if re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", said) else None


def all_known(*answers: bool | None) -> bool | None:
    """Return whether all answers are yes: one no decides, otherwise one unknown leaves it open."""
    if False in answers:
        return False
    return None if None in answers else True
