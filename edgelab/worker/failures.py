"""Failures the worker reports. The class names are those of EdgeLab's failure taxonomy."""

from __future__ import annotations

import os
import signal

SYNTAX_API = "syntax_api"
MEMORY = "memory"
NUMERIC = "numeric"
PARALLEL = "parallel"
TIMEOUT = "timeout"
CRASH = "crash"
HACK = "hack"
INFRASTRUCTURE = "infrastructure"

_HEAP_CORRUPTION = (
    "corrupted",
    "free(): invalid",
    "double free",
    "malloc(): invalid",
    "malloc(): unaligned",
    "munmap_chunk",
    "realloc(): invalid",
    "stack smashing",
    "malloc_consolidate",
)
_OUT_OF_MEMORY = ("bad_alloc", "memoryerror", "cannot allocate", "out of memory", "failed to allocate")
# EdgeLab's OpenCL runtime; the CUDA driver's words for its error codes (cuda.h, CUresult).
_TOO_WIDE = (
    "needs a work group",
    "invalid configuration argument",
    "too many resources requested for launch",
)
_BAD_ACCESS = ("of local memory", "illegal memory access", "misaligned address", "illegal address")
_NOT_COMPILED = ("cannot build the program", "no kernel image is available", "invalid ptx")
_MISSING_API = ("undefined symbol", "cannot find", "not found", "has no function", "no attribute")


class WorkerFailure(Exception):
    """One operation failed. `failure_class` is from the taxonomy, `program` names the guilty program."""

    def __init__(self, failure_class: str, message: str, *, detail: str = "", program: str = "") -> None:
        super().__init__(message)
        self.failure_class = failure_class
        self.message = message
        self.detail = detail
        self.program = program


class ControllerGone(Exception):
    """The other end of stdin has closed: everything ends."""


def describe_exit(status: int) -> str:
    """Name a wait status: `exit 0`, `exit 3` or `signal SIGSEGV`."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"signal {signal.Signals(number).name}"
        except ValueError:
            return f"signal {number}"
    return f"exit {os.WEXITSTATUS(status)}"


def classify_exit(status: int, stderr_tail: str) -> tuple[str, str]:
    """Judge the death of a program that was not killed by the worker: (failure class, explanation).

    SIGSEGV and SIGBUS are memory errors, and so is an abort on which glibc reported heap damage; a
    SIGKILL that the worker did not send is taken for the kernel's out-of-memory killer.
    """
    text = stderr_tail.lower()
    if "symbol lookup error" in text:
        return SYNTAX_API, "calls a function that does not exist on the device"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGSEGV, signal.SIGBUS):
            return MEMORY, "accessed memory that is not its own: segmentation fault"
        if any(mark in text for mark in _HEAP_CORRUPTION):
            return MEMORY, "wrote outside its buffers: the C library found its heap damaged"
        if any(mark in text for mark in _OUT_OF_MEMORY):
            return MEMORY, "ran out of memory"
        if number == signal.SIGKILL:
            return MEMORY, "was killed by the system, most likely for using too much memory"
    return CRASH, "ended by itself before it had answered"


def classify_message(message: str) -> str:
    """Class of an exception that a program raised while it was loaded or called, from its text."""
    text = message.lower()
    if any(mark in text for mark in (*_OUT_OF_MEMORY, *_BAD_ACCESS)):
        return MEMORY
    if any(mark in text for mark in _TOO_WIDE):
        return PARALLEL
    if any(mark in text for mark in (*_MISSING_API, *_NOT_COMPILED)):
        return SYNTAX_API
    return CRASH
