"""`df -Pk`: POSIX lines, blocks of 1024 bytes."""

from __future__ import annotations

import re

import msgspec

_ROW = re.compile(r"\s([0-9]{1,18}) +([0-9]{1,18}) +(-?[0-9]{1,18}) +(?:([0-9]{1,3})%|-) +/([^\r\n]*)")


class Disk(msgspec.Struct, frozen=True):
    """One file system. A full one may have less than nothing available (space kept for root): that is 0."""

    total_kb: int
    available_kb: int
    use_percent: int | None


def read_df(text: str) -> Disk | None:
    """Read the file system that was asked for; None when there is no row.

    Where `df` listed several, that is the one at `/`, else the first.
    """
    rows = list(_ROW.finditer(text))
    found = next((row for row in rows if not row[5].strip()), rows[0] if rows else None)
    if found is None:
        return None
    return Disk(int(found[1]), max(0, int(found[3])), int(found[4]) if found[4] else None)
