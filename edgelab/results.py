"""The verdict of one evaluation, as it is stored, shown and printed by `edgelab run --json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.errors import ExitCode

Verdict = Literal["ok", "failed", "unstable"]
Quality = Literal["strict", "paired", "none"]


class Failure(msgspec.Struct, frozen=True, rename={"failure_class": "class"}):
    """Why an evaluation gave no measurement. `failure_class` is a value of `errors.FailureClass`.

    `advice` says what to do, `exit_code` is the status of the command that ran it (`errors.ExitCode`).
    """

    failure_class: str
    message: str
    detail: str = ""
    advice: str = ""
    exit_code: int = 1


class Latency(msgspec.Struct, frozen=True):
    """Median latencies in seconds; None where nothing was measured."""

    candidate: float | None = None
    baseline: float | None = None


class RobustVariation(msgspec.Struct, frozen=True):
    """Robust coefficients of variation (1.4826 * MAD / median, as a share: 0.05 is 5 %)."""

    candidate: float | None = None
    baseline: float | None = None
    speedup: float | None = None


class BaselineInfo(msgspec.Struct, frozen=True):
    """What the candidate was compared with. `kind` is `plain` or `tuned`; `program` is a blob hash."""

    kind: str
    program: str = ""
    target: str = ""
    tvm_version: str = ""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """One judged evaluation; the object printed by `edgelab run --json`.

    `speedup` is the median of t_baseline / t_candidate over the pairs, `speedup_ci95` the 95 %
    interval of that median (order statistics). `peak_memory_bytes` is measured in the child that ran
    the candidate (resident memory above what it had before the program was loaded);
    `planned_memory_bytes` is what the compiled program plans for intermediate tensors. `floor_s` is the least
    latency that the device's peaks allow (roofline), which no honest candidate undercuts; None: not checked.
    """

    schema: str = "edgelab.run/1"
    run: str
    task: str
    device: str
    backend: str
    simulated: bool = False
    verdict: Verdict
    failure: Failure | None = None
    compiled: bool = False
    correct: bool = False
    latency_s: Latency = Latency()
    speedup: float | None = None
    speedup_ci95: tuple[float, float] | None = None
    quality: Quality = "none"
    rcv: RobustVariation = RobustVariation()
    pairs: int = 0
    calls_per_block: int = 0
    peak_memory_bytes: int | None = None
    planned_memory_bytes: int | None = None
    floor_s: float | None = None
    baseline: BaselineInfo | None = None
    candidate_program: str = ""
    elapsed_s: float = 0.0
    phase_s: dict[str, float] = {}

    @property
    def exit_code(self) -> ExitCode:
        """Status of the command that ran it. An unstable timing is the device's fault: not ready."""
        if self.verdict == "ok":
            return ExitCode.DONE
        if self.verdict == "unstable":
            return ExitCode.NOT_READY
        return ExitCode(self.failure.exit_code) if self.failure else ExitCode.WORK_FAILED
