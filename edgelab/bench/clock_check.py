"""Do a program's own times agree with the worker's clock? Over all pairs of a measurement.

A block's gap is what the worker's clock saw beyond the time that the program's child reported: the way there
and back. Both sides of a pair go the same way at nearly the same time, so their gaps differ by noise alone;
a child that reports less time than it took has the larger gap in pair after pair.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from edgelab.bench.timing import drift_interval
from edgelab.errors import EvaluationFailure, FailureClass

FEWEST_PAIRS = 20
"""Below this, noise cannot be told from a lie, and nothing is said."""

_SLACK_S = 200e-6
_SLACK_SHARE = 0.02
_SIGMAS = 6.0
_HALF_WIDTH_SIGMAS = 1.96


def check_clocks(candidate_gaps_s: Sequence[float], baseline_gaps_s: Sequence[float], block_s: float) -> None:
    """Compare the gaps of the two sides, pair by pair; `block_s` is the duration of a block.

    The median difference may be 200 us (the way differs with the number of threads) plus 2 % of a block
    plus six standard errors, taken from what order statistics or slow drift make of the differences.
    Raises `EvaluationFailure` (hack) when the candidate's gap exceeds the baseline's by more. A baseline
    that lies would only harm itself.
    """
    differences = [ours - theirs for ours, theirs in zip(candidate_gaps_s, baseline_gaps_s, strict=True)]
    if len(differences) < FEWEST_PAIRS:
        return
    unexplained_s = statistics.median(differences)
    tolerated_s = _SLACK_S + _SLACK_SHARE * block_s + _SIGMAS * _standard_error(differences)
    if unexplained_s > tolerated_s:
        raise EvaluationFailure(
            FailureClass.HACK,
            "The candidate reports less time than the worker's clock saw its blocks take.",
            detail=(
                f"{unexplained_s:.6f} s a block are unexplained over {len(differences)} pairs; "
                f"{tolerated_s:.6f} s are tolerated."
            ),
        )


def _standard_error(values: Sequence[float]) -> float:
    """Return the median's standard error: of independent values, or by slow drift, whichever is larger."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median([abs(value - middle) for value in values])
    low, high = drift_interval(values)
    return max(1.2533 * deviation / math.sqrt(len(values)), (high - low) / 2 / _HALF_WIDTH_SIGMAS)
