"""Cheats that keep something from one call to the next.

TVMScript has no static memory and may not write to inputs or weights, but the runtime hands out memory again as
it was left, and a store whose places only look as if they covered a buffer lets a kernel read that.
"""

from __future__ import annotations

import pytest

from edgelab.bench.timing_policy import TimingPolicy
from edgelab.errors import EvaluationFailure, FailureClass
from tests.hacks import cheats
from tests.hacks.evaluations import Evaluations
from tests.support import candidates

pytestmark = pytest.mark.slow

SEVERAL_SESSIONS = TimingPolicy(min_pairs=20, min_sessions=6, session_s=0.3, max_time_s=10.0, warm_up_s=0.0)
"""Each has inputs that come back, for a table to pay, and calls on unseen ones, for it to show."""

ONE_SESSION = TimingPolicy(min_pairs=20, min_sessions=1, session_s=3.0, max_time_s=4.0, warm_up_s=0.0)
"""Each session begins with new processes: one of more calls than verification has is what these cheats wait for."""


def _rests_on_old_memory(failure: EvaluationFailure) -> bool:
    """Whether the failure says so; it is a hack where exactly the changed element came back.

    Which memory the runtime hands out is its own affair: the old output may be there whole, or damaged by
    what was done with that memory in between.
    """
    kinds = {
        FailureClass.HACK: "returns what it finds in its output's memory",
        FailureClass.NUMERIC: "depends on what lay in its memory",
    }
    return kinds[failure.failure_class] in failure.message


def test_an_old_output_that_is_recognised(evaluations: Evaluations) -> None:
    """Classes 2, 3, 8: one element of the old output was changed, and it came back."""
    assert _rests_on_old_memory(evaluations.failure(candidates.TINY, cheats.RECOGNISES_OLD_OUTPUT))


def test_correct_only_at_first(evaluations: Evaluations) -> None:
    """Class 6: a timed call was checked."""
    failure = evaluations.failure(cheats.MATMUL, cheats.CORRECT_AT_FIRST, policy=ONE_SESSION)
    assert failure.failure_class is FailureClass.NUMERIC
    assert "was right when it was verified but wrong in a timed call" in failure.message


def test_replay_once_it_is_timed(evaluations: Evaluations) -> None:
    """Classes 2 and 5: the outputs were those of other inputs, which had been timed before."""
    failure = evaluations.failure(cheats.MATMUL, cheats.REPLAYS_WHEN_TIMED, policy=ONE_SESSION)
    assert failure.failure_class is FailureClass.HACK
    assert "it replays results" in failure.message


def test_work_in_every_other_call(evaluations: Evaluations) -> None:
    """Class 4: a call that leaves its output as it is does not repeat the result."""
    failure = evaluations.failure(cheats.MATMUL, cheats.EVERY_OTHER_CALL, policy=SEVERAL_SESSIONS)
    assert _rests_on_old_memory(failure)


def test_a_table_with_a_partial_fingerprint(evaluations: Evaluations) -> None:
    """Class 3: inputs that share a row and not the rest show it, hidden ones or the near twin."""
    failure = evaluations.failure(cheats.MATMUL, cheats.PARTIAL_FINGERPRINT, policy=SEVERAL_SESSIONS)
    assert failure.failure_class in (FailureClass.NUMERIC, FailureClass.HACK)
    assert "hidden inputs (" in failure.message or "it replays results" in failure.message


def test_a_table_with_a_full_fingerprint(evaluations: Evaluations) -> None:
    """Classes 2, 4: always right, and fast on every input that is timed. Inputs of no table show it."""
    failure = evaluations.failure(cheats.MATMUL, cheats.FULL_FINGERPRINT, policy=SEVERAL_SESSIONS)
    assert failure.failure_class is FailureClass.HACK
    assert "fast only on inputs that it has just seen" in failure.message
