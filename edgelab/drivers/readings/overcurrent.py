"""Over-current counters of a Jetson (soctherm): events since boot, and what came between two looks."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from edgelab.drivers.readings.node_lines import decimal, read_node_lines, whole


class Growth(msgspec.Struct, frozen=True):
    """What grew between two looks, `seconds` apart; nothing is known when the board was booted in between."""

    seconds: float | None
    events: dict[str, int | None]
    rebooted: bool


def read_overcurrent(nodes: Mapping[str, str]) -> dict[str, int]:
    """Return the counters by name (`oc1` under-voltage, `oc2` average, `oc3` instantaneous over-current)."""
    found = {}
    for path, value in sorted(nodes.items()):
        name, count = re.search(r"/(oc[0-9])_event_cnt$", path), whole(value)
        if name and count is not None and count >= 0:
            found[name[1]] = count
    return found


def growth(
    before: Mapping[str, int], after: Mapping[str, int], before_s: float | None, after_s: float | None
) -> Growth:
    """Return what grew between two samples taken at uptimes in seconds.

    A counter or an uptime that went down says that the board was booted in between.
    """
    names = sorted({*before, *after})
    unknown: dict[str, int | None] = dict.fromkeys(names)
    went_down = any(after[name] < before[name] for name in names if name in before and name in after)
    if went_down or (before_s is not None and after_s is not None and after_s < before_s):
        return Growth(None, unknown, True)
    seconds = None if before_s is None or after_s is None else after_s - before_s
    grown = {name: after[name] - before[name] for name in names if name in before and name in after}
    return Growth(seconds, {**unknown, **grown}, False)


def read_overcurrent_pair(text: str) -> Growth:
    """Read two samples, each after a line `@ UPTIME`."""
    samples = [part for part in re.split(r"(?m)^@ ", text) if part.strip()]
    read = []
    for sample in samples[:2]:
        uptime, _, rest = sample.partition("\n")
        read.append((decimal(uptime), read_overcurrent(read_node_lines(rest).values)))
    if len(read) < 2:
        return Growth(None, {}, False)
    (before_s, before), (after_s, after) = read
    return growth(before, after, before_s, after_s)
