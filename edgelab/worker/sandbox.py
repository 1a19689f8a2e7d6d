"""What a process gives up before it runs candidate code. Irreversible; called in a program child only.

Works without privileges; run as root each process also becomes a user of its own, so that file permissions
hold against it and it cannot reach its siblings. What a kernel does not offer is reported, not hidden.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import seccomp
from .syscalls import NUMBERS

CAPTURE_LIMIT_BYTES = 1 << 18
"""How much a program can write to its stdout and stderr together (and to any file at all)."""

NOBODY = 65534

FIRST_OWN_USER = 0x7000_0000
"""User and group ids of children run as root: this plus the process id, so that no two living ones share one.

Neither distributions nor systemd give ids of this range to anyone, and process ids end at 2^22.
"""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FLAG_TSYNC = 1, 1
# A thread reserves its stack and an arena of the allocator; neither is memory that the program uses.
_ADDRESS_SPACE_PER_THREAD = 160 << 20

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class SandboxReport:
    """What holds in this process: `on`, or why not. `network` and `exec` follow from `seccomp`."""

    seccomp: str
    network: str
    exec: str
    user: str
    memory_limit_bytes: int | None

    def as_dict(self) -> dict[str, object]:
        """The report as JSON can carry it."""
        return asdict(self)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def isolate(
    *, memory_bytes: int | None, threads: int, parent_pid: int, uid: int | None = None, driver: bool = False
) -> SandboxReport:
    """Enter the sandbox: everything but opening files to read, which loading a program needs.

    `memory_bytes` bounds the address space on top of what the process already has. `uid` is the user to
    become (None: one of its own). With `driver` a GPU's driver still has to start: it writes files and starts
    programs and threads, so the filters wait for `confine_driver`. Ends the process if its parent is no longer
    `parent_pid`, because then nothing would end it later.
    """
    user = _become_unprivileged(FIRST_OWN_USER + os.getpid() if uid is None else uid)
    limit = (
        None if memory_bytes is None else _limit_memory(memory_bytes + threads * _ADDRESS_SPACE_PER_THREAD)
    )
    _lower_limit(resource.RLIMIT_CORE, 0)
    if not driver:
        _lower_limit(resource.RLIMIT_FSIZE, CAPTURE_LIMIT_BYTES)
    # Not dumpable: /proc/<pid>/mem and ptrace are closed to processes of the same user, siblings included.
    _prctl(_PR_SET_DUMPABLE, 0)
    die_with_parent(parent_pid)
    state = "after the first call" if driver else install(seccomp.isolation_rules(os.getpid()))
    return SandboxReport(seccomp=state, network=state, exec=state, user=user, memory_limit_bytes=limit)


def confine_loaded() -> str:
    """Leave only what a loaded program needs: no files, no new threads. Returns `on` or why not."""
    return install([], seccomp.LOADED_CALLS)


def confine_driver(*, device_calls: bool) -> str:
    """Put up both filters at once, after a driver has started its threads and compiled what it runs.

    `device_calls` leaves it ioctl, by which drivers of the kernel are spoken to. Returns `on` or why not.
    """
    _lower_limit(resource.RLIMIT_FSIZE, CAPTURE_LIMIT_BYTES)
    state = install(seccomp.isolation_rules(os.getpid()))
    if state != "on":
        return state
    return install([], (*seccomp.LOADED_CALLS, *(("ioctl",) if device_calls else ())))


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel for SIGKILL when the parent dies; ends at once if it is dead already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def protect_memory() -> None:
    """Close this process's memory to other processes of the same user (it holds expected outputs)."""
    _prctl(_PR_SET_DUMPABLE, 0)


def close_descriptors(keep: set[int]) -> None:
    """Close every file descriptor from 3 up that is not in `keep`."""
    start = 3
    for fd in [*sorted(fd for fd in keep if fd >= 3), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(start, fd)
        start = fd + 1


def _become_unprivileged(own: int) -> str:
    if os.getuid() != 0:
        return f"same user (uid {os.getuid()})"
    reason = None
    # A container may map no more than the ids of its own users; `nobody` is one that most have.
    for uid, description in ((own, f"own user (uid {own})"), (NOBODY, "nobody")):
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError as error:
            reason = error.strerror
        else:
            return description
    return f"root: could not become nobody: {reason}"


def _limit_memory(memory_bytes: int) -> int:
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + memory_bytes
    _lower_limit(resource.RLIMIT_AS, limit)
    return limit


def _lower_limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _prctl(option: int, value: int) -> None:
    if (
        _libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
        != 0
    ):
        error = ctypes.get_errno()
        raise OSError(error, f"prctl {option}: {os.strerror(error)}")


def install(rules: list[seccomp.Rule], allowed: Sequence[str] | None = None) -> str:
    """Install a filter for all threads of the process; `on`, or the reason why there is none.

    `allowed`: None for all calls that no rule refuses, else the only ones (see seccomp.assemble).
    """
    machine = os.uname().machine
    if not seccomp.supported(machine):
        return f"unavailable: no system call table for {machine}"
    with contextlib.suppress(OSError):  # Already set, and then forbidden by the first filter.
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    code = seccomp.assemble(rules, machine, allowed)
    program = _FilterProgram(len(code) // 8, code)
    result = _libc.syscall(
        ctypes.c_long(NUMBERS[machine]["seccomp"]),
        ctypes.c_ulong(_SECCOMP_SET_MODE_FILTER),
        ctypes.c_ulong(_SECCOMP_FLAG_TSYNC),
        ctypes.byref(program),
    )
    return "on" if result == 0 else f"unavailable: {os.strerror(ctypes.get_errno())}"
