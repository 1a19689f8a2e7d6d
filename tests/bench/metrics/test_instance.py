"""What of a verdict counts, and how."""

from __future__ import annotations

from edgelab.bench.metrics.instance import Instance, instance_of
from edgelab.results import Failure, RunResult
from tests.support.instances import an_instance
from tests.support.records import a_result


def of(result: RunResult, *, valid: bool = True) -> Instance:
    return instance_of(
        result, level=2, domain="M", method="import", baseline_kind="plain", valid=valid, when_s=5.0
    )


def test_a_measurement_comes_over_whole():
    found = of(a_result())
    assert (found.task, found.level, found.domain, found.backend, found.device) == (
        "softmax",
        2,
        "M",
        "llvm",
        "local",
    )
    assert (found.speedup, found.ci95, found.latency_s) == (1.5, (1.49, 1.51), 1.0e-4)
    assert (found.peak_memory_bytes, found.planned_memory_bytes) == (1 << 20, 1 << 19)
    assert (found.verdict, found.quality, found.baseline_program) == ("ok", "strict", "b" * 64)
    assert found.counts
    assert found.judged


def test_an_infrastructure_failure_is_not_judged():
    lost = a_result(verdict="failed", failure=Failure("infrastructure", "the board is gone"), speedup=None)
    found = of(lost)
    assert (found.verdict, found.judged, found.message) == ("not_judged", False, "the board is gone")


def test_an_invalid_measurement_is_not_judged_and_gives_no_number():
    found = of(a_result(), valid=False)
    assert not found.judged
    assert (found.speedup, found.ci95, found.latency_s, found.quality) == (None, None, None, "none")
    assert "clocks" in found.message


def test_an_unstable_result_is_judged_although_its_measurement_is_not_valid():
    found = of(a_result(verdict="unstable", quality="none"), valid=False)
    assert (found.verdict, found.judged, found.correct, found.counts) == ("unstable", True, True, False)


def test_a_program_that_cheats_is_not_correct():
    assert not of(a_result(verdict="failed", failure=Failure("hack", "beyond the roofline"))).correct


def test_a_failure_without_a_class_is_shown_as_such():
    assert of(a_result(verdict="failed", failure=None)).failure_class == "unclassified"


def test_what_did_not_compile_is_not_correct():
    assert not of(a_result(compiled=False, correct=True)).correct


def test_only_strict_timings_of_a_physical_device_count():
    assert an_instance(quality="strict").counts
    assert not an_instance(quality="paired").counts
    assert an_instance(quality="paired").timed
    assert an_instance(quality="paired", simulated=True).counts
    assert not an_instance(quality="strict", verdict="unstable").timed
    assert not an_instance(speedup=None).timed
    assert not an_instance(speedup=0.0).timed
