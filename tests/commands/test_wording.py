"""How events and verdicts read as text."""

from __future__ import annotations

import pytest

from edgelab import events
from edgelab.commands.wording import Stream, event_line, result_text
from edgelab.results import Failure
from tests.support.records import a_result

SAMPLES = [
    (
        events.RunStarted(task="softmax", device="local", backend="llvm", resumed=True),
        "resumed: softmax on local",
    ),
    (events.StepStarted(step="build"), "     build  ..."),
    (
        events.StepFinished(step="verify", ok=False, elapsed_s=0.5, summary="seed 11 differs"),
        "ERROR: verify failed",
    ),
    (events.LogLine(source="worker", text="hello"), "    worker  hello"),
    (events.LogLine(level="warning", text="hm"), "WARNING: hm"),
    (
        events.DeviceAwaited(device="local", holder="run a1"),
        "WARNING: waiting for local, which run a1 is using",
    ),
    (events.RunInterrupted(reason="stopped"), "interrupted: stopped"),
    (events.RunFinished(result=a_result()), "verdict ok: 1.50×"),
]


@pytest.mark.parametrize(("body", "said"), SAMPLES, ids=lambda value: type(value).__name__)
def test_events_worth_a_line(body, said):
    line = event_line(body)
    assert line is not None
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "body",
    [
        events.StepProgress(step="verify", done=1, total=3),
        events.DeviceSampled(cpu_freq_hz=1e9),
        events.LogLine(level="debug", text="noise"),
    ],
)
def test_events_that_say_nothing_new(body):
    assert event_line(body) is None


def test_a_measurement_reads_with_units_quality_and_interval():
    text = result_text(a_result())
    assert "1.50× over plain, 95 % interval [1.49, 1.51]" in text
    assert "100.0 µs candidate, 150.0 µs plain" in text
    assert "strict, 100 pairs, calls a block: 10" in text
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


def test_the_same_program_twice_is_said():
    same = a_result(candidate_program="b" * 64)
    assert "candidate and baseline are the same program" in result_text(same)
    assert "same program" not in result_text(a_result())


def test_an_unstable_verdict_has_advice():
    assert "let other work on it end" in result_text(a_result(verdict="unstable", quality="none"))


def test_escape_sequences_of_strangers_become_visible():
    hostile = "\x1b]0;PWNED\x07\x1b[2J"
    failure = Failure("syntax_api", hostile, detail=f"{hostile}\nsecond line")
    text = result_text(a_result(verdict="failed", failure=failure, task=hostile, speedup=None))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "second line" in text
    line = event_line(events.LogLine(text=hostile))
    assert line is not None
    assert "\x1b" not in line


def test_the_stream_says_the_time_of_day_and_thins_the_timing():
    timed = events.PairsTimed(
        candidate_s=(1.0,), baseline_s=(1.0,), pairs=1, max_pairs=10, calls_per_block=1, latency_candidate_s=1.0,
        latency_baseline_s=1.0, speedup=1.0, speedup_ci95=(1.0, 1.0), rcv_candidate=0.0, rcv_baseline=0.0,
        rcv_speedup=0.0, quality="none",
    )  # fmt: skip
    stream = Stream()
    lines = [stream.line(events.StoredEvent(id=n, run="r", time_s=n / 10, body=timed)) for n in range(31)]
    assert sum(line is not None for line in lines) == 4
    said = stream.line(events.StoredEvent(id=99, run="r", time_s=0.0, body=events.LogLine(text="hello")))
    assert said is not None
    assert said[2] == said[5] == ":"
