"""One sandboxed child against another process of its user: no way to signal it, move it or slow it down."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator

import pytest

from edgelab.worker import sandbox
from edgelab.worker.syscalls import NUMBERS
from tests.worker.support import in_fork

pytestmark = pytest.mark.integration

EPERM = "OSError 1"
FIOSETOWN, SIOCSPGRP = 0x8901, 0x8902
F_SETSIG, F_SETOWN_EX = 10, 15


@pytest.fixture
def sibling() -> Iterator[int]:
    """A process of the user that the attacker has in `attack`, outside of any sandbox."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.pause()
        finally:
            os._exit(0)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def call(name: str, *arguments: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    number = NUMBERS[os.uname().machine][name]
    result = libc.syscall(*(ctypes.c_long(value) for value in (number, *arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def owner(value: int) -> int:
    """Address of a struct f_owner_ex {F_OWNER_PID, value}, or of an int that has both."""
    owner.kept = (ctypes.c_int * 2)(1, value)  # type: ignore[attr-defined]
    return ctypes.addressof(owner.kept)  # type: ignore[attr-defined]


ATTACKS: dict[str, Callable[[socket.socket, int], object]] = {
    "setown": lambda end, pid: fcntl.fcntl(end, fcntl.F_SETOWN, pid),
    "setsig": lambda end, pid: fcntl.fcntl(end, F_SETSIG, signal.SIGKILL),
    "setown_ex": lambda end, pid: call("fcntl", end.fileno(), F_SETOWN_EX, owner(pid)),
    "lease": lambda end, pid: fcntl.fcntl(0, fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "notify": lambda end, pid: fcntl.fcntl(0, fcntl.F_NOTIFY, 1),
    "fiosetown": lambda end, pid: call("ioctl", end.fileno(), FIOSETOWN, owner(pid)),
    "siocspgrp": lambda end, pid: call("ioctl", end.fileno(), SIOCSPGRP, owner(pid)),
    "affinity": lambda end, pid: os.sched_setaffinity(pid, {0}),
    "kill": lambda end, pid: os.kill(pid, 0),
    "tgkill": lambda end, pid: call("tgkill", pid, pid, 0),
    "tkill": lambda end, pid: call("tkill", pid, 0),
    "sigqueue": lambda end, pid: call("rt_sigqueueinfo", pid, 0, 0),
    "priority": lambda end, pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "io_priority": lambda end, pid: call("ioprio_set", 1, pid, 0x6000),
    "scheduler": lambda end, pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    "limit": lambda end, pid: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)),
    "timer": lambda end, pid: call("timer_create", 1, 0, owner(0)),
    "queue": lambda end, pid: call("mq_notify", 0, 0),
    "move_pages": lambda end, pid: call("move_pages", pid, 0, 0, 0, 0, 0),
    "shared_memory": lambda end, pid: call("shmctl", 0, 0, 0),
}


@pytest.mark.parametrize("loaded", [False, True], ids=["loading", "loaded"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_another_process_cannot_be_reached(sibling: int, attack: str, loaded: bool):
    def probe() -> str:
        end, other = socket.socketpair()
        with end, other:
            sandbox.isolate(memory_bytes=None, threads=1, parent_pid=os.getppid())
            if loaded:
                sandbox.confine_loaded()
            return f"returned {ATTACKS[attack](end, sibling)}"

    assert in_fork(probe) in (EPERM, "PermissionError: [Errno 1] Operation not permitted")


@pytest.mark.parametrize(
    "name", ["fcntl", "ioctl", "setsockopt", "sched_setaffinity", "clone", "openat", "dup"]
)
def test_a_loaded_program_has_no_use_for_other_calls(name: str):
    numbers = {"setsockopt": (54, 208), "dup": (32, 23)}
    machine = os.uname().machine
    number = numbers[name][machine == "aarch64"] if name in numbers else NUMBERS[machine][name]

    def probe() -> str:
        sandbox.isolate(memory_bytes=None, threads=1, parent_pid=os.getppid())
        sandbox.confine_loaded()
        libc = ctypes.CDLL(None, use_errno=True)
        return f"{libc.syscall(ctypes.c_long(number), 0, 0, 0, 0)} {ctypes.get_errno()}"

    assert in_fork(probe) == "-1 1"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give children users of their own")
def test_children_of_root_are_users_of_their_own():
    def user() -> str:
        sandbox.isolate(memory_bytes=None, threads=1, parent_pid=os.getppid())
        ids = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
        return f"{ids == {sandbox.FIRST_OWN_USER + os.getpid()}} {os.getuid()}"

    first, second = in_fork(user), in_fork(user)
    assert first.startswith("True")
    assert second.startswith("True")
    assert first != second


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give children users of their own")
def test_where_such_users_do_not_exist_children_are_nobody(monkeypatch: pytest.MonkeyPatch):
    change = os.setresgid

    def refuse_unmapped(*ids: int) -> None:
        if ids != (sandbox.NOBODY,) * 3:
            raise OSError(errno.EINVAL, "not mapped")
        change(*ids)

    monkeypatch.setattr(os, "setresgid", refuse_unmapped)
    assert (
        in_fork(lambda: f"{sandbox._become_unprivileged(sandbox.FIRST_OWN_USER + os.getpid())} {os.getuid()}")
        == f"nobody {sandbox.NOBODY}"
    )
