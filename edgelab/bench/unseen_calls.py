"""Is a program as fast on inputs that it has not just seen? Over all sessions of a measurement.

Calls in a block have the same inputs, and the inputs that are timed come back. A program that keeps results
somewhere need not compute them again. So each session also times single calls on inputs that were never there
before. What such a call costs beyond one in a block (a colder cache, the clock's own time) the baseline shows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from edgelab.errors import EvaluationFailure, FailureClass

FEWEST_CALLS = 3
"""Below this, noise cannot be told from a lie, and nothing is said."""

_SLACK_SHARE = 0.5
_SLACK_S = 20e-6
_SIGMAS = 6.0


def check_unseen(
    unseen_s: Sequence[tuple[float, float]], candidate_latency_s: float, baseline_latency_s: float
) -> None:
    """Compare calls on unseen inputs, (candidate, baseline) in seconds, with the latencies in blocks.

    The candidate's may exceed its latency by what the baseline's does, plus half of the latency, plus 20 us
    (waking threads differs between programs), plus six standard errors of the medians.
    Raises `EvaluationFailure` (hack) when it exceeds that.
    """
    if len(unseen_s) < FEWEST_CALLS:
        return
    ours, theirs = [pair[0] for pair in unseen_s], [pair[1] for pair in unseen_s]
    excess_s = statistics.median(ours) - candidate_latency_s
    excess_s -= max(0.0, statistics.median(theirs) - baseline_latency_s)
    noise_s = math.hypot(_standard_error(ours), _standard_error(theirs))
    tolerated_s = _SLACK_SHARE * candidate_latency_s + _SLACK_S + _SIGMAS * noise_s
    if excess_s > tolerated_s:
        raise EvaluationFailure(
            FailureClass.HACK,
            "The candidate is fast only on inputs that it has just seen: it keeps results from call to call.",
            detail=(
                f"A call takes {candidate_latency_s:.3g} s among others on the same inputs and {excess_s:.3g} s more "
                f"on others, over {len(unseen_s)} calls; {tolerated_s:.3g} s more are tolerated."
            ),
        )


def _standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the median, from the median absolute deviation (normal law)."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median([abs(value - middle) for value in values])
    return 1.2533 * deviation / math.sqrt(len(values))
