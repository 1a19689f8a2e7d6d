"""How much timing a measurement may take: blocks, sessions, caps, and when enough pairs were taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from edgelab.bench.timing import PairStatistics


class TimingPolicy(msgspec.Struct, frozen=True):
    """How much timing a measurement may take.

    Timing goes on until the 95 % interval is `half_width` to each side: half of what the quality asks for,
    since an interval that only just fits would leave the median outside of it in one of twenty runs. It
    takes `min_sessions`, as many as the interval has segments, so that it covers what differs between them.

    A block is `warm_calls` untimed calls and then timed calls for about `block_s`: single calls for
    long kernels, several where one call is near the clock's and the pipe's resolution.
    """

    min_pairs: int = 40
    max_pairs: int = 5000
    min_sessions: int = 10
    block_s: float = 0.001
    session_s: float = 0.12
    max_time_s: float = 30.0
    warm_up_s: float = 0.1
    warm_calls: int = 1
    min_long_pairs: int = 20
    half_width: float = 0.005

    def calls_per_block(self, latency_s: float) -> int:
        """Return how many timed calls make a block for calls of `latency_s`."""
        return max(1, round(self.block_s / max(latency_s, 1e-7)))

    def warm_calls_per_block(self, latency_s: float) -> int:
        """Return the untimed calls that begin a block; long calls warm themselves."""
        return self.warm_calls if latency_s < self.block_s * 10 else 0

    def pairs_per_session(self, pair_s: float) -> int:
        """Return how many pairs of `pair_s` seconds each a session has before both programs are loaded anew."""
        return max(4, min(200, int(self.session_s / max(pair_s, 1e-7))))

    def is_enough(self, statistics: PairStatistics, sessions: int, elapsed_s: float) -> bool:
        """Whether timing may stop: the quality holds with a narrow interval, or a cap is reached."""
        if self.is_capped(statistics, elapsed_s):
            return True
        return self.is_settled(statistics, sessions) and self._holds(statistics)

    def is_settled(self, statistics: PairStatistics, sessions: int) -> bool:
        """Whether there are enough pairs and sessions for the statistics to mean what they say."""
        return statistics.pairs >= self.min_pairs and sessions >= self.min_sessions

    def _holds(self, statistics: PairStatistics) -> bool:
        return statistics.quality != "none" and statistics.interval_half_width <= self.half_width

    def is_capped(self, statistics: PairStatistics, elapsed_s: float) -> bool:
        """Whether the pairs or the time are used up (long calls still get `min_long_pairs`)."""
        if statistics.pairs >= self.max_pairs:
            return True
        return elapsed_s >= self.max_time_s and statistics.pairs >= self.min_long_pairs
