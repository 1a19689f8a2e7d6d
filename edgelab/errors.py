"""Domain errors: what happened, to which device, task or candidate, and what to do about it."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """Exit status of every `edgelab` command."""

    DONE = 0
    WORK_FAILED = 1
    USAGE = 2
    NOT_READY = 3
    INTERRUPTED = 4
    INTERNAL = 5


class FailureClass(enum.StrEnum):
    """Failure taxonomy of one evaluation; `INFRASTRUCTURE` is never counted against a candidate."""

    SYNTAX_API = "syntax_api"
    MEMORY = "memory"
    PARALLEL = "parallel"
    NUMERIC = "numeric"
    TIMEOUT = "timeout"
    CRASH = "crash"
    HACK = "hack"
    INFRASTRUCTURE = "infrastructure"


class EdgeLabError(Exception):
    """Base of all errors that are shown to an operator as one message, without a traceback.

    `message` says what happened and to what; `advice` says what to do.
    """

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


class UsageError(EdgeLabError):
    """The operator named something that does not exist or asked for something impossible."""

    exit_code = ExitCode.USAGE


class NotReadyError(EdgeLabError):
    """A device, or the machine EdgeLab runs on, is not fit for the work."""

    exit_code = ExitCode.NOT_READY


class RunLost(EdgeLabError):
    """A run's process ended without a verdict; what it recorded is kept and it can be resumed."""

    exit_code = ExitCode.INTERRUPTED


class TaskError(EdgeLabError):
    """A task cannot be used: its file raises, lacks a part, or gives unusable tensors."""

    exit_code = ExitCode.USAGE


class EvaluationFailure(EdgeLabError):
    """One evaluation ended without a measurement, for a reason in the failure taxonomy."""

    exit_code = ExitCode.WORK_FAILED

    def __init__(
        self,
        failure_class: FailureClass,
        message: str,
        *,
        detail: str = "",
        advice: str = "",
    ) -> None:
        super().__init__(message, advice=advice)
        self.failure_class = failure_class
        self.detail = detail
        if failure_class is FailureClass.INFRASTRUCTURE:
            self.exit_code = ExitCode.NOT_READY


class ClocksLost(EvaluationFailure):
    """The clocks of a device are not what they were locked to; what was measured meanwhile does not count."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(FailureClass.INFRASTRUCTURE, message, advice=advice)
