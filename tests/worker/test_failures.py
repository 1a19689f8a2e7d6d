from __future__ import annotations

import signal

import pytest

from edgelab.worker.failures import classify_exit, classify_message, describe_exit


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "exit 0"),
        (3 << 8, "exit 3"),
        (signal.SIGSEGV, "signal SIGSEGV"),
        (64, "signal SIGRTMAX"),
        (50, "signal 50"),
    ],
)
def test_wait_status_is_named(status: int, text: str):
    assert describe_exit(status) == text


@pytest.mark.parametrize(
    ("status", "stderr", "failure_class"),
    [
        (signal.SIGSEGV, "", "memory"),
        (signal.SIGBUS, "", "memory"),
        (signal.SIGABRT, "free(): invalid next size (normal)", "memory"),
        (signal.SIGABRT, "malloc(): corrupted top size", "memory"),
        (signal.SIGABRT, "terminate called after throwing std::bad_alloc", "memory"),
        (signal.SIGABRT, "assertion failed", "crash"),
        (signal.SIGKILL, "", "memory"),
        (signal.SIGFPE, "", "crash"),
        (0, "", "crash"),
        (127 << 8, "symbol lookup error: undefined symbol: f", "syntax_api"),
    ],
)
def test_death_is_classified(status: int, stderr: str, failure_class: str):
    assert classify_exit(status, stderr)[0] == failure_class


@pytest.mark.parametrize(
    ("message", "failure_class"),
    [
        ("std::bad_alloc", "memory"),
        ("undefined symbol: foo", "syntax_api"),
        ("Cannot find function vm.builtin.no", "syntax_api"),
        ("Check failed: shape", "crash"),
        ("kernel k needs a work group of 1048576 x 1 x 1 = 1048576 work items; PoCL allows 4096", "parallel"),
        ("kernel k needs 99999 bytes of local memory; PoCL has 65536", "memory"),
        (
            "OpenCL: PoCL cannot build the program: CL_BUILD_PROGRAM_FAILURE (-11)\nerror: unknown type",
            "syntax_api",
        ),
        ("OpenCL is out of memory: allocating 8 bytes failed", "memory"),
        ("CUDA: an illegal memory access was encountered", "memory"),
        ("CUDALaunch Error: invalid configuration argument", "parallel"),
        ("too many resources requested for launch", "parallel"),
    ],
)
def test_messages_are_classified(message: str, failure_class: str):
    assert classify_message(message) == failure_class
