"""A series of bounded length: every k-th value of all that came, with k doubling when it is full."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

SERIES_LIMIT = 2048
"""Values kept at most; more than a plot at 160 columns has dots."""


class Series(msgspec.Struct, frozen=True):
    """Every `stride`-th of the `seen` values. Kept values are measured ones, never averages of several."""

    values: tuple[float, ...] = ()
    stride: int = 1
    seen: int = 0

    def extended(self, fresh: Sequence[float], limit: int = SERIES_LIMIT) -> Series:
        """Return the series with further values, thinned when it outgrew `limit`."""
        first = -self.seen % self.stride
        values = self.values + tuple(fresh[first :: self.stride])
        stride = self.stride
        while len(values) > limit:
            values, stride = values[::2], stride * 2
        return Series(values, stride, self.seen + len(fresh))

    @property
    def median(self) -> float | None:
        """The median of the kept values, None for none."""
        return median(self.values) if self.values else None
