"""Pairs whose two sides run in different places: the controller alternates their blocks, A B then B A."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from edgelab.drivers import worker_messages as messages


class Side(Protocol):
    """One side of the pairs: a program in the worker, or an engine."""

    async def renew(self, inputs: Path) -> None:
        """Load it anew with the inputs that are timed."""
        ...

    async def block(self, *, calls_per_block: int, warm_calls: int, time_s: float) -> messages.Block:
        """Make untimed calls, then time a block of calls."""
        ...


class Alternator:
    """A `pairing.PairTimer` over two sides, as the worker is one over two of its programs.

    It keeps the worker's rules: warm-up calls before each block, the order flipped with every pair, no pair
    begun when the time is over.
    """

    def __init__(
        self,
        sides: Mapping[str, Side],
        sample: Callable[[Sequence[str]], Awaitable[messages.DeviceReading]],
    ) -> None:
        self._sides = sides
        self._sample = sample

    async def pair(
        self, a: str, b: str, *, pairs: int, calls_per_block: int, warm_calls: int, first: int, time_s: float
    ) -> messages.PairSeries:
        """See `PairTimer.pair`."""
        deadline_s = time.monotonic() + time_s
        blocks: tuple[list[messages.Block], list[messages.Block]] = ([], [])
        sides = (self._sides[a], self._sides[b])
        for number in range(pairs):
            if number and time.monotonic() >= deadline_s:
                break
            begins = (number + first) % 2
            for side in (begins, 1 - begins):
                # The pair that is under way may finish as long as its sides keep answering promptly.
                limit_s = max(deadline_s - time.monotonic(), min(1.0, time_s))
                timed = await sides[side].block(
                    calls_per_block=calls_per_block, warm_calls=warm_calls, time_s=limit_s
                )
                blocks[side].append(timed)
        return messages.PairSeries(
            a_s=tuple(block.latency_s for block in blocks[0]),
            b_s=tuple(block.latency_s for block in blocks[1]),
            parent_s=tuple((one.parent_s, other.parent_s) for one, other in zip(*blocks, strict=True)),
        )

    async def sample(self, nodes: Sequence[str] = ()) -> messages.DeviceReading:
        """See `PairTimer.sample`."""
        return await self._sample(nodes)
