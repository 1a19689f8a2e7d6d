"""How events and verdicts read as text."""

from __future__ import annotations

import pytest

from edgelab import events
from edgelab.commands.narration import narrate, result_text
from edgelab.results import Failure
from tests.support.records import a_result

SAMPLES = {
    events.RunStarted(task="softmax", device="local", backend="llvm", resumed=True): "resumed softmax on local",
    events.StepStarted(step="build"): "build ...",
    events.StepFinished(step="verify", ok=False, elapsed_s=0.5, summary="seed 11 differs"): "FAILED in 500.0 ms",
    events.Built(
        role="candidate", program="ab" * 32, artefact="cd" * 32, size_bytes=2048, cost_s=0.1, cached=True
    ): "found in cache, 2.0 KiB",
    events.SeedVerified(role="candidate", seed=11, ok=False, message="output 0"): "seed 11 WRONG output 0",
    events.SeedVerified(role="candidate", seed=11, ok=True, max_abs_error=1e-7): "largest error 1e-07",
    events.LogLine(source="worker", text="hello"): "worker: hello",
    events.RunInterrupted(reason="stopped"): "interrupted: stopped",
}


@pytest.mark.parametrize(("body", "said"), SAMPLES.items(), ids=lambda value: type(value).__name__)
def test_events_worth_a_line(body, said):
    line = narrate(body)
    assert line is not None
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "body",
    [
        events.StepProgress(step="verify", done=1, total=3),
        events.DeviceSampled(cpu_freq_hz=1e9),
        events.LogLine(level="debug", text="noise"),
        events.RunFinished(result=a_result()),
    ],
)
def test_events_that_say_nothing_new(body):
    assert narrate(body) is None


def test_a_measurement_reads_with_units_quality_and_interval():
    text = result_text(a_result())
    assert "1.50× over plain, 95 % interval [1.49, 1.51]" in text
    assert "100.0 µs candidate, 150.0 µs plain" in text
    assert "strict, 100 pairs of 10 call(s) a block" in text
    assert "1.0 MiB peak" in text


def test_unknown_memory_reads_as_unknown():
    assert "— peak" in result_text(a_result(peak_memory_bytes=None))


def test_a_failure_shows_class_message_advice_and_aligned_detail():
    failure = Failure("numeric", "output 0 differs", detail="first\nsecond", advice="look closer")
    lines = result_text(a_result(verdict="failed", failure=failure, speedup=None)).splitlines()
    assert lines[0].split() == ["verdict", "FAILED"]
    assert "class       numeric" in lines
    assert "detail      first" in lines
    assert "            second" in lines
    assert not any(line.startswith("speed-up") for line in lines)
