"""devfreq's trans_stat: the present operating point and how often it changed."""

from __future__ import annotations

import re

import msgspec


class Transitions(msgspec.Struct, frozen=True):
    """Operating points in Hz as listed, the present one, and the number of changes."""

    current_hz: int | None
    freqs: tuple[int, ...]
    transitions: int | None


def read_trans_stat(text: str) -> Transitions:
    """Read the table by its row labels: heads of ten digits touch each other."""
    rows = re.findall(r"^ *(?:(\*) *)?([0-9]{1,15}): ", text, re.MULTILINE)
    total = re.search(r"Total transition : ([0-9]{1,15})", text)
    current = next((int(freq) for mark, freq in rows if mark), None)
    return Transitions(current, tuple(int(freq) for _, freq in rows), int(total[1]) if total else None)
