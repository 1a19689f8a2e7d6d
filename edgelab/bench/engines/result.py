"""The verdict on one engine and one task, as it is stored and printed by `edgelab engines --json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.errors import ExitCode
from edgelab.results import Quality

EngineVerdict = Literal["ok", "unstable", "wrong", "unsupported", "failed", "unavailable"]
"""`ok` and `unstable` have numbers; the others have a reason. `unavailable`: the engine is not installed."""


class SideLatency(msgspec.Struct, frozen=True):
    """Median latencies in seconds; None where nothing was measured."""

    engine: float | None = None
    baseline: float | None = None


class SideVariation(msgspec.Struct, frozen=True):
    """Robust coefficients of variation as shares (see `timing.robust_variation`)."""

    engine: float | None = None
    baseline: float | None = None
    speedup: float | None = None


class EngineBaseline(msgspec.Struct, frozen=True):
    """What the engine alternated with: `plain` (TVM's default pipeline) or another engine, and its version.

    `program` is the digest of the imported program, empty where the baseline is an engine.
    """

    kind: str
    version: str = ""
    program: str = ""
    target: str = ""


class EngineResult(msgspec.Struct, frozen=True, kw_only=True):
    """One engine on one task.

    `baseline_speedup` is how many times faster the baseline is: the median of t_engine / t_baseline over
    the pairs, with its 95 % interval. `settings` are the engine's own, as it reported them; `prepare_s` is
    what its conversion or compilation took.
    """

    task: str
    engine: str
    version: str | None = None
    versions: dict[str, str] = {}
    verdict: EngineVerdict
    reason: str = ""
    detail: str = ""
    advice: str = ""
    baseline: EngineBaseline
    threads: int | None = None
    latency_s: SideLatency = SideLatency()
    baseline_speedup: float | None = None
    baseline_speedup_ci95: tuple[float, float] | None = None
    quality: Quality = "none"
    rcv: SideVariation = SideVariation()
    pairs: int = 0
    calls_per_block: int = 0
    prepare_s: float | None = None
    settings: dict[str, str] = {}


def exit_code(results: list[EngineResult], *, named: bool) -> ExitCode:
    """Return the status of the command that got `results`.

    That an engine is absent or does not take a task is an answer, unless the operator `named` the engine.
    """
    verdicts = {result.verdict for result in results}
    if verdicts & {"wrong", "failed"} or (named and "unsupported" in verdicts):
        return ExitCode.WORK_FAILED
    if "unstable" in verdicts or (named and "unavailable" in verdicts):
        return ExitCode.NOT_READY
    return ExitCode.DONE
