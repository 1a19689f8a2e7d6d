"""When a search for schedules has converged, and what it does about the noise of that rule.

EdgeKernelBench's rule: T_conv is the first trial after which the best latency improves by less than eps = 0.02
over W = 100 further trials. The same kernel and seed converge at very different latencies under it, so it is
hardened: a minimum of trials, another search with another seed, and the best candidates measured again side by
side.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

EPS = 0.02
WINDOW = 100


def best_so_far(latencies_s: Sequence[float | None]) -> list[float | None]:
    """Entry i is the least latency of the trials 0 to i, None as long as none succeeded."""
    return list(
        itertools.accumulate(
            latencies_s, lambda best, latency: best if latency is None else _least(best, latency)
        )
    )


def _least(best: float | None, latency: float) -> float:
    return latency if best is None else min(best, latency)


def converged_at(
    latencies_s: Sequence[float | None], *, eps: float = EPS, window: int = WINDOW, exhausted: bool = False
) -> int | None:
    """Return T_conv, counted in trials from 1; None if the trials do not show it yet.

    It is the least t with best(t + window) > (1 - eps) * best(t), where best(t) is the least latency of the first t
    trials. Trials before the first success do not count as converged. A search that is `exhausted` found nothing
    new to try: no further trial would have been better.
    """
    best = best_so_far(latencies_s)
    if exhausted:
        best += best[-1:] * window
    for trial in range(1, len(best) - window + 1):
        now, later = best[trial - 1], best[trial + window - 1]
        if now is not None and later is not None and later > (1 - eps) * now:
            return trial
    return None


Decision = Literal["go_on", "restart", "stop"]


class StopRule(msgspec.Struct, frozen=True, kw_only=True):
    """How long one kernel is searched.

    A search that converged after `min_trials` is followed by up to `restarts` others with other seeds, as far
    as the budget of trials goes. `finalists` are measured again in `rounds` rounds at the end.
    """

    eps: float = EPS
    window: int = WINDOW
    min_trials: int = 128
    restarts: int = 1
    finalists: int = 8
    rounds: int = 9

    def decide(self, searches: Sequence[Sequence[float | None]], budget: int) -> Decision:
        """What comes after these searches' trials (latencies in seconds); the last one is under way."""
        if sum(map(len, searches)) >= budget:
            return "stop"
        current = searches[-1] if searches else ()
        if len(current) < self.min_trials or self.converged_at(current) is None:
            return "go_on"
        return "restart" if len(searches) <= self.restarts else "stop"

    def converged_at(self, latencies_s: Sequence[float | None], *, exhausted: bool = False) -> int | None:
        """T_conv of one search under this rule."""
        return converged_at(latencies_s, eps=self.eps, window=self.window, exhausted=exhausted)


def least_relative(rounds: Sequence[Sequence[float | None]]) -> tuple[int, float] | None:
    """The best of several candidates measured in rounds, and its latency relative to candidate 0.

    `rounds[r][c]` is the latency of candidate c in round r. Each is compared with candidate 0 of the same round,
    which cancels drift that a round shares; what counts is the median over the rounds. Candidates that failed
    in a round are out. None if candidate 0 failed.
    """
    first = [row[0] for row in rounds if row[0] is not None]
    if not rounds or len(first) < len(rounds):
        return None
    best: tuple[int, float] | None = None
    for candidate in range(len(rounds[0])):
        latencies = [latency for row in rounds if (latency := row[candidate]) is not None]
        if len(latencies) < len(rounds):
            continue
        relative = statistics.median([latency / base for latency, base in zip(latencies, first, strict=True)])
        if best is None or relative < best[1]:
            best = (candidate, relative)
    return best
