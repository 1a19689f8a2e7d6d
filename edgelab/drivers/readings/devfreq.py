"""The GPU's devfreq node: its operating points, governors, limits and present clock."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from edgelab.drivers.readings.node_lines import whole

_GPU_FOLDER = re.compile(r"(.*/([^/]*\.gpu[^/]*))/cur_freq$")


class Devfreq(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU's node. Frequencies in Hz, `freqs` ascending; `max_hz` is the highest of them."""

    node: str | None = None
    freqs: tuple[int, ...] = ()
    governor: str | None = None
    governors: tuple[str, ...] = ()
    cur_hz: int | None = None
    low_hz: int | None = None
    high_hz: int | None = None

    @property
    def max_hz(self) -> int | None:
        """The highest operating point."""
        return max(self.freqs, default=None)

    @property
    def has_userspace(self) -> bool:
        """Whether the governor `userspace`, which holds one clock, is there."""
        return "userspace" in self.governors

    @property
    def locked_max(self) -> bool:
        """Whether the GPU is held at its highest point: a cap keeps `performance` below it."""
        held = self.governor in ("performance", "userspace") or (
            self.low_hz is not None and self.low_hz == self.high_hz
        )
        return self.cur_hz is not None and self.cur_hz == self.max_hz and held


def read_devfreq(nodes: Mapping[str, str]) -> Devfreq:
    """Return the node of the GPU (`*.gpu*`, also `-panthor`) among those of memory and NPU."""
    folder = next((found for path in sorted(nodes) if (found := _GPU_FOLDER.fullmatch(path))), None)
    if folder is None:
        return Devfreq()

    def text(name: str) -> str | None:
        return nodes.get(f"{folder[1]}/{name}")

    steps = (whole(step) for step in (text("available_frequencies") or "").split())
    return Devfreq(
        node=folder[2],
        freqs=tuple(sorted(step for step in steps if step is not None)),
        governor=(text("governor") or "").strip() or None,
        governors=tuple((text("available_governors") or "").split()),
        cur_hz=whole(text("cur_freq")),
        low_hz=whole(text("min_freq")),
        high_hz=whole(text("max_freq")),
    )
