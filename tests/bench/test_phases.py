"""The clock of an evaluation."""

from __future__ import annotations

import pytest

from edgelab.bench.phases import PhaseClock
from edgelab.events import StepFinished, StepStarted


def test_a_step_is_announced_timed_and_summed():
    events = []
    clock = PhaseClock(events.append)
    for _ in range(2):
        with clock.step("build") as step:
            step.summary = "two kernels"
    assert [type(event) for event in events] == [StepStarted, StepFinished] * 2
    assert events[1].ok
    assert events[1].summary == "two kernels"
    assert clock.phase_s["build"] == pytest.approx(events[1].elapsed_s + events[3].elapsed_s)


@pytest.mark.parametrize("error", [ValueError("first line\nsecond"), KeyboardInterrupt()])
def test_a_failed_step_says_so_and_the_error_goes_on(error):
    events = []
    clock = PhaseClock(events.append)
    with pytest.raises(type(error)), clock.step("verify"):
        raise error
    assert isinstance(events[-1], StepFinished)
    assert not events[-1].ok
    assert events[-1].stopped == isinstance(error, KeyboardInterrupt)
    assert events[-1].summary == ("" if events[-1].stopped else "first line")
    assert "verify" in clock.phase_s
