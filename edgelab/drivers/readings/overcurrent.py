"""Over-current counters of a Jetson (soctherm): events since boot, and what came between two looks."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from edgelab.drivers.readings.node_lines import decimal, read_node_lines, whole

_NAME = re.compile(r"oc[0-9]_event_cnt")


class Growth(msgspec.Struct, frozen=True):
    """What grew between two looks, `seconds` apart; None is not known.

    When the board was booted in between, `rebooted` is True and nothing else is known.
    """

    seconds: float | None
    events: dict[str, int | None]
    rebooted: bool | None


def read_overcurrent(nodes: Mapping[str, str]) -> dict[str, int]:
    """Return the counters by name (`oc1` under-voltage, `oc2` average, `oc3` instantaneous over-current).

    A counter that cannot be read is absent. Meanings are those of the kernel's soctherm driver.
    """
    found = {}
    for path, value in sorted(nodes.items()):
        name, count = path.rpartition("/")[2], whole(value)
        if _NAME.fullmatch(name) and count is not None and count >= 0:
            found[name.partition("_")[0]] = count
    return found


def growth(
    before: Mapping[str, int], after: Mapping[str, int], before_s: float | None, after_s: float | None
) -> Growth:
    """Return what grew between two samples taken at uptimes in seconds.

    A counter or an uptime that went down says that the board was booted in between; without uptimes,
    counters that did not go down cannot exclude it.
    """
    names = sorted({*before, *after})
    unknown: dict[str, int | None] = dict.fromkeys(names)
    grown = {name: after[name] - before[name] for name in names if name in before and name in after}
    seconds = None if before_s is None or after_s is None else round(after_s - before_s, 3)
    if any(count < 0 for count in grown.values()) or (seconds is not None and seconds < 0):
        return Growth(None, unknown, True)
    return Growth(seconds, {**unknown, **grown}, None if seconds is None else False)


def read_overcurrent_pair(text: str) -> Growth:
    """Read two samples, each after a line `@ UPTIME`; nothing is known with fewer."""
    read = []
    for sample in re.split(r"(?m)^@ ", text)[1:3]:
        uptime, _, rest = sample.partition("\n")
        read.append((decimal(uptime), read_overcurrent(read_node_lines(rest).values)))
    if len(read) < 2:
        return Growth(None, {}, None)
    (before_s, before), (after_s, after) = read
    return growth(before, after, before_s, after_s)
