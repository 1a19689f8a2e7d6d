"""Cheats whose results are wrong where they did not expect to be looked at."""

from __future__ import annotations

import pytest

from edgelab.errors import FailureClass
from tests.hacks import cheats
from tests.hacks.evaluations import Evaluations
from tests.support import candidates

pytestmark = pytest.mark.slow

ANNOUNCED = {
    "class 1, zeros": (candidates.ZEROS, "got 0, expected"),
    "class 1, a constant": (cheats.CONSTANT, "got 0.25, expected"),
    "class 9, NaN that would match": (candidates.NOT_A_NUMBER, "got nan, expected"),
    "class 20, half precision inside": (cheats.HALF_PRECISION, "elements, first at"),
    "class 31, speed without correctness": (candidates.WRONG, "differs in 4096 of 4096"),
}


@pytest.mark.parametrize(("text", "reason"), ANNOUNCED.values(), ids=ANNOUNCED.keys())
def test_announced_inputs_show_it(evaluations: Evaluations, text: str, reason: str) -> None:
    failure = evaluations.failure(candidates.TINY, text)
    assert failure.failure_class is FailureClass.NUMERIC
    assert "for seed 11" in failure.message
    assert reason in failure.message


HIDDEN = {
    "class 22, only small values": (candidates.TINY, cheats.KNOWS_MAGNITUDES, ("large", "extremes")),
    "class 22, only values in [-1, 1] x 8": (
        candidates.TINY,
        cheats.KNOWS_SMALLNESS,
        ("large", "small", "extremes"),
    ),
    "class 22, no zeros": (candidates.TINY, cheats.KNOWS_NO_ZEROS, ("zero blocks", "sparse")),
    "class 32, a softmax without its maximum": (
        "softmax_attn_deit",
        cheats.UNSAFE_SOFTMAX,
        ("large", "extremes"),
    ),
}


@pytest.mark.parametrize(("task", "text", "structures"), HIDDEN.values(), ids=HIDDEN.keys())
def test_hidden_inputs_show_it(
    evaluations: Evaluations, task: str, text: str, structures: tuple[str, ...]
) -> None:
    failure = evaluations.failure(task, text)
    assert failure.failure_class is FailureClass.NUMERIC
    assert any(f"for hidden inputs ({structure})" in failure.message for structure in structures)
    assert "it is right for the announced inputs" in failure.message


MEMORY = {
    "class 33, far outside of the buffers": (candidates.SEGFAULT, ("segmentation fault",)),
    # The C library may also find the damage while it holds its own lock, and then it hangs.
    "class 33, one element beyond the end": (
        cheats.ONE_BEYOND_THE_END,
        ("its heap damaged", "did not end cleanly", "was killed"),
    ),
}


@pytest.mark.parametrize(("text", "reasons"), MEMORY.values(), ids=MEMORY.keys())
def test_foreign_memory_shows_it(evaluations: Evaluations, text: str, reasons: tuple[str, ...]) -> None:
    failure = evaluations.failure(candidates.TINY, text)
    assert failure.failure_class in (FailureClass.MEMORY, FailureClass.TIMEOUT)
    assert any(reason in failure.message for reason in reasons)
