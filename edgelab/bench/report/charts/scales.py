"""From quantities to positions in a drawing, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec


class LinearScale(msgspec.Struct, frozen=True):
    """Maps `low` ... `high` to `start` ... `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value; what lies outside is put on the edge."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


class LogScale(msgspec.Struct, frozen=True):
    """Maps `low` ... `high`, both positive, to `start` ... `end` by their logarithms."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value; what lies outside, 0 too, is put on the edge."""
        part = math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, limit: int = 7) -> list[float]:
        """Return at most `limit` round values (1, 2, 5 times powers of ten, or powers of ten)."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = self._within(step * 10.0**decade for decade in decades for step in steps)
            if len(found) <= limit:
                return found
        powers = self._within(10.0**decade for decade in decades)
        return powers[:: math.ceil(len(powers) / limit)]

    def binary_ticks(self, limit: int = 7) -> list[float]:
        """Return at most `limit` powers of two, which sizes in KiB and MiB are round in."""
        powers = range(math.ceil(math.log2(self.low)), math.floor(math.log2(self.high)) + 1)
        stride = max(1, math.ceil(len(powers) / limit))
        return [2.0**power for power in powers if power % stride == 0]

    def _within(self, values: Iterable[float]) -> list[float]:
        slack = 1e-9
        return [value for value in values if self.low * (1 - slack) <= value <= self.high * (1 + slack)]


def log_range(
    values: Iterable[float], *, include: Iterable[float] = (), least: float = 4.0
) -> tuple[float, float]:
    """Return bounds around the positive values and `include`, with some room and at least `least` apart."""
    known = [value for value in (*values, *include) if value > 0]
    low, high = min(known, default=1.0) / 1.15, max(known, default=1.0) * 1.15
    if high / low < least:
        widen = math.sqrt(least * low / high)
        low, high = low / widen, high * widen
    return low, high


def share_ceiling(share: float) -> float:
    """Return the end of an axis of shares: the first of 10, 25, 50 and 100 % that `share` fits under."""
    return next(end for end in (0.1, 0.25, 0.5, 1.0) if share <= end)
