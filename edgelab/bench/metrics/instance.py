"""One instance of the benchmark: a task on a device, by one method, and what its evaluation found."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.errors import FailureClass
from edgelab.results import Quality, RunResult

InstanceVerdict = Literal["ok", "unstable", "failed", "missing", "not_judged"]
"""`missing`: wanted, but never evaluated; counts as not compiled. `not_judged`: the evaluation ended for a
reason that is not the candidate's (`infrastructure`, a measurement marked invalid); counts nowhere."""

OUTSIDE_SUITE = 0
"""Level of what is no instance of the suite: own task files, and tasks on a backend they do not count for."""

UNCLASSIFIED = "unclassified"
"""Failure class of a failed evaluation that recorded none."""


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """A task on a device by a method, over one kind of baseline. Unknown is None.

    `method` is `import` (the task's own import) or `candidate` (a program of the operator's). `speedup`
    is the median of t_baseline / t_candidate, `ci95` its 95 % interval. `baseline_program` and
    `candidate_program` are program digests, `when_s` is when the run was made (seconds since the epoch).
    """

    task: str
    level: int
    domain: str
    backend: str
    device: str
    simulated: bool
    method: str
    baseline_kind: str
    verdict: InstanceVerdict
    compiled: bool = False
    correct: bool = False
    failure_class: str = ""
    message: str = ""
    speedup: float | None = None
    ci95: tuple[float, float] | None = None
    latency_s: float | None = None
    baseline_latency_s: float | None = None
    peak_memory_bytes: int | None = None
    planned_memory_bytes: int | None = None
    quality: Quality = "none"
    run: str = ""
    when_s: float | None = None
    candidate_program: str = ""
    baseline_program: str = ""

    @property
    def judged(self) -> bool:
        """Whether it is in the denominators: everything but what is not the candidate's doing."""
        return self.verdict != "not_judged"

    @property
    def timed(self) -> bool:
        """Whether it is correct and its timing holds, at any quality."""
        measured = self.speedup is not None and self.speedup > 0 and self.quality != "none"
        return self.correct and self.verdict == "ok" and measured

    @property
    def counts(self) -> bool:
        """Whether its speed-up is in the headline: timed, and of `strict` quality on a physical device.

        The clocks of a simulated board are this machine's, so `paired` is what one can ask of it.
        """
        return self.timed and (self.simulated or self.quality == "strict")


def instance_of(
    result: RunResult,
    *,
    level: int,
    domain: str,
    method: str,
    baseline_kind: str,
    valid: bool = True,
    when_s: float | None = None,
) -> Instance:
    """Return the instance that `result` is about.

    `valid` is False for a measurement that was marked invalid: it is then not judged. A program that was
    found to cheat (`hack`) is not correct, whatever it computed.
    """
    failure_class = _failure_class(result, valid)
    not_judged = failure_class == FailureClass.INFRASTRUCTURE
    measured = not not_judged
    return Instance(
        task=result.task,
        level=level,
        domain=domain,
        backend=result.backend,
        device=result.device,
        simulated=result.simulated,
        method=method,
        baseline_kind=baseline_kind,
        verdict="not_judged" if not_judged else result.verdict,
        compiled=result.compiled,
        correct=result.correct and result.compiled and failure_class != FailureClass.HACK,
        failure_class=failure_class,
        message=_message(result, valid),
        speedup=result.speedup if measured else None,
        ci95=result.speedup_ci95 if measured else None,
        latency_s=result.latency_s.candidate if measured else None,
        baseline_latency_s=result.latency_s.baseline if measured else None,
        peak_memory_bytes=result.peak_memory_bytes,
        planned_memory_bytes=result.planned_memory_bytes,
        quality=result.quality if measured else "none",
        run=result.run,
        when_s=when_s,
        candidate_program=result.candidate_program,
        baseline_program=result.baseline.program if result.baseline else "",
    )


def _failure_class(result: RunResult, valid: bool) -> str:
    if result.verdict == "failed":
        return result.failure.failure_class if result.failure else UNCLASSIFIED
    return FailureClass.INFRASTRUCTURE.value if result.verdict == "ok" and not valid else ""


def _message(result: RunResult, valid: bool) -> str:
    if result.failure is not None:
        return result.failure.message
    if result.verdict == "ok" and not valid:
        return "The measurement was marked invalid: the device's clocks were not as locked."
    return ""
