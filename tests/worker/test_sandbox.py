"""Probes that run inside the sandbox, in a forked process of their own."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from edgelab.worker import sandbox
from tests.worker.support import in_fork

pytestmark = pytest.mark.integration

EPERM, EACCES = "OSError 1", "OSError 13"
PARENT = os.getpid()


def enter(*, memory_bytes: int | None = None) -> sandbox.SandboxReport:
    return sandbox.isolate(memory_bytes=memory_bytes, threads=1, parent_pid=os.getppid())


def inside(probe: Callable[[], object]) -> str:
    def run() -> str:
        enter()
        return f"returned {probe()}"

    return in_fork(run)


def raw_syscall(number: int, *arguments: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(*(ctypes.c_long(value) for value in (number, *arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "syscall")
    return result


def test_report_says_what_holds():
    report = in_fork(lambda: str(enter().as_dict()))
    assert "'seccomp': 'on', 'network': 'on', 'exec': 'on'" in report
    assert ("'user': 'own user" in report) == (os.getuid() == 0)


@pytest.mark.parametrize(
    "probe",
    [
        lambda: socket.socket(socket.AF_INET),
        socket.socketpair,
        lambda: os.execv("/bin/true", ["true"]),
        os.fork,
        lambda: os.kill(PARENT, 0),
        lambda: os.kill(-1, 0),
        os.setsid,
        lambda: list(Path("/tmp").iterdir()),
        lambda: os.open("/tmp/written-by-a-candidate", os.O_WRONLY | os.O_CREAT),
        lambda: Path("/tmp/written-by-a-candidate").unlink(),
        lambda: os.memfd_create("x"),
        lambda: os.setuid(0),
        lambda: sandbox._prctl(1, 0),
    ],
    ids=[
        "socket",
        "socketpair",
        "exec",
        "fork",
        "kill",
        "kill_all",
        "setsid",
        "listdir",
        "write",
        "unlink",
        "memfd",
        "setuid",
        "prctl",
    ],
)
def test_system_call_is_refused(probe: Callable[[], object]):
    assert inside(probe) == EPERM


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become an ordinary user")
def test_an_ordinary_user_gets_the_same_filter():
    def probe() -> str:
        os.setgroups([])
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)
        report = enter(memory_bytes=1 << 30)
        assert report.seccomp == "on"
        assert report.user == "same user (uid 1000)"
        assert sandbox.confine_loaded() == "on"
        return Path("/etc/hostname").read_text()

    assert in_fork(probe) == EPERM


def test_limits_cannot_be_raised():
    def probe() -> object:
        return resource.setrlimit(resource.RLIMIT_CORE, (1, 1))

    assert "not allowed" in inside(probe) or inside(probe) == EPERM


def test_memory_of_another_process_cannot_be_read():
    assert inside(lambda: os.open(f"/proc/{PARENT}/mem", os.O_RDONLY)) == EACCES
    if os.uname().machine == "x86_64":
        assert inside(lambda: raw_syscall(310, PARENT, 0, 0, 0, 0, 0)) == EPERM
        assert inside(lambda: raw_syscall(101, 16, PARENT, 0, 0)) == EPERM


def test_expected_outputs_cannot_be_found_or_read(tmp_path: Path):
    blobs = tmp_path / "blobs"
    blobs.mkdir(0o700)
    (blobs / "expected").write_bytes(b"secret")

    def guess() -> str:
        enter()
        sandbox.confine_loaded()
        return (blobs / "expected").read_text()

    assert inside(lambda: list(blobs.iterdir())) in (EPERM, EACCES)
    assert in_fork(guess) == EPERM
    if os.getuid() == 0:
        assert inside((blobs / "expected").read_text) == EACCES


def test_nothing_can_be_opened_once_files_are_forbidden():
    def probe() -> str:
        enter()
        assert sandbox.confine_loaded() == "on"
        return Path("/etc/hostname").read_text()

    assert in_fork(probe) == EPERM


def test_the_filter_holds_for_threads_that_exist_already():
    def probe() -> str:
        go, answers = threading.Event(), []

        def try_socket() -> None:
            go.wait(10)
            try:
                socket.socket()
            except OSError as error:
                answers.append(f"OSError {error.errno}")

        thread = threading.Thread(target=try_socket)
        thread.start()
        enter()
        go.set()
        thread.join(10)
        return answers[0] if answers else "a socket"

    assert in_fork(probe) == EPERM


def start_thread() -> str:
    done = []
    thread = threading.Thread(target=lambda: done.append(1))
    thread.start()
    thread.join(10)
    return str(done)


def test_threads_start_until_the_program_is_loaded():
    def probe(loaded: bool) -> str:
        enter(memory_bytes=1 << 30)
        if loaded:
            sandbox.confine_loaded()
        return start_thread()

    assert in_fork(lambda: probe(loaded=False)) == "[1]"
    assert in_fork(lambda: probe(loaded=True)).startswith("RuntimeError: can't start new thread")


def test_memory_is_limited():
    def probe() -> str:
        enter(memory_bytes=64 << 20)
        return str(len(bytearray(1 << 30)))

    assert in_fork(probe).startswith("MemoryError")


def test_output_is_bounded():
    def probe() -> str:
        fd = os.memfd_create("capture")
        enter()
        for _ in range(10):
            os.write(fd, b"x" * sandbox.CAPTURE_LIMIT_BYTES)
        return "unbounded"

    assert in_fork(probe) == "OSError 27"


def test_abort_still_works():
    assert in_fork(lambda: enter() and os.abort()) == f"status {int(signal.SIGABRT)}"


def test_orphan_ends_at_once():
    def probe() -> str:
        sandbox.die_with_parent(parent_pid=1 << 21)
        return "lives"

    assert in_fork(probe) == f"status {1 << 8}"


def test_descriptors_are_closed_but_for_some():
    def probe() -> str:
        (kept, kept_too), (closed, closed_too) = os.pipe(), os.pipe()
        # Among the others is the pipe through which the probe answers.
        others = {int(fd.name) for fd in Path("/proc/self/fd").iterdir()}
        sandbox.close_descriptors(others - {closed, closed_too})
        os.fstat(kept)
        os.fstat(kept_too)
        refused = 0
        for fd in (closed, closed_too):
            try:
                os.fstat(fd)
            except OSError as error:
                refused += error.errno == errno.EBADF
        return f"{refused} closed"

    assert in_fork(probe) == "2 closed"
