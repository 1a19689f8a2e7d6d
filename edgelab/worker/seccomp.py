"""A seccomp-bpf filter as data: which system calls a program child may not make, for two architectures.

A compiled kernel needs memory, futexes and clocks. It gets them in two stages, each a filter of its own, and
the kernel applies both: `isolation_rules` refuse what does harm before the program is loaded (opening files to
read is still possible, which the dynamic linker needs, but not listing folders, so that blobs whose names are
hashes cannot be found); once it is loaded, `LOADED_CALLS` are all that is left.

The layout of the program is from linux/filter.h and linux/seccomp.h.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from .syscalls import NUMBERS, audit_architecture

_X32_BIT = 0x40000000

_LD_W_ABS, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_ARGS = 0, 4, 16

_CLONE_THREAD = 0x00010000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Rule:
    """Refuse `name` with `error`. With `argument` given, only if that argument's low 32 bits fulfil `when`.

    `when` is `differs` (not equal to `value`), `equals`, `any` (has a bit of `value`) or `lacks` (has none of them);
    `nonzero` looks at all 64 bits.
    """

    name: str
    error: int = errno.EPERM
    argument: int | None = None
    when: str = "always"
    value: int = 0


_HOT = """
futex sched_yield read write recvfrom recvmsg sendto sendmsg poll ppoll mmap munmap madvise brk
"""

_REFUSED_ALWAYS = """
accept accept4 bind connect listen socket socketpair execve execveat fork vfork ptrace process_vm_readv
process_vm_writev process_madvise process_mrelease kcmp pidfd_open pidfd_getfd pidfd_send_signal tkill
rt_sigqueueinfo rt_tgsigqueueinfo setsid setpgid prctl setrlimit io_uring_setup io_uring_enter io_uring_register
bpf perf_event_open userfaultfd keyctl add_key request_key mount umount2 pivot_root chroot setns unshare reboot
init_module finit_module delete_module kexec_load kexec_file_load swapon swapoff open_by_handle_at
name_to_handle_at getdents getdents64 openat2 creat memfd_create memfd_secret unlink unlinkat rename renameat
renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat mknod mknodat chmod fchmod fchmodat fchmodat2 chown
fchown lchown fchownat truncate setuid setgid setreuid setregid setresuid setresgid setgroups personality
modify_ldt inotify_init inotify_init1 fanotify_init shmget shmat msgget semget mq_open sched_setscheduler
sched_setparam sched_setattr setpriority ioprio_set timer_create mq_notify move_pages migrate_pages msgctl semctl
shmctl move_mount open_tree fsopen fsconfig fsmount fspick
mount_setattr syslog acct quotactl settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname
utimensat setxattr
"""

# By these a descriptor sends signals, and to any process of the same user: F_SETOWN, F_SETSIG, F_SETOWN_EX,
# F_SETLEASE, F_NOTIFY (linux/fcntl.h); FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSPGRP, TIOCSTI (asm/ioctls.h).
_SIGNALLING_FCNTL = (8, 10, 15, 1024, 1026)
_SIGNALLING_IOCTL = (0x8901, 0x8902, 0x5452, 0x5410, 0x5412)

LOADED_CALLS = tuple(
    f"""
{_HOT} mprotect mremap clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage
rt_sigprocmask rt_sigaction rt_sigreturn sigaltstack restart_syscall set_robust_list rseq sched_getaffinity getcpu
getpid gettid getppid getuid geteuid getgid getegid getrlimit prlimit64 sysinfo getrandom writev lseek fstat
tgkill close exit exit_group
""".split()
)
"""What a loaded program can still call; the rules of the first stage narrow some of them.

That is what a kernel, the runtime's threads (which exist by then: no new ones), the channel, the allocator,
abort and the exit need. Nothing in it names a file, a socket address or another process.
"""


def isolation_rules(pid: int) -> list[Rule]:
    """Rules for the process `pid`: no network, no other programs or processes, no writing of files.

    Signals may go to itself only (abort needs that), clone may make threads only; clone3, whose flags a
    filter cannot see, is reported as missing so that the C library falls back to clone.
    """
    return [
        *(Rule(name) for name in _REFUSED_ALWAYS.split()),
        Rule("clone3", errno.ENOSYS),
        Rule("clone", argument=0, when="lacks", value=_CLONE_THREAD),
        Rule("kill", argument=0, when="differs", value=pid),
        Rule("tgkill", argument=0, when="differs", value=pid),
        Rule("sched_setaffinity", argument=0, when="nonzero"),
        *(Rule("fcntl", argument=1, when="equals", value=command) for command in _SIGNALLING_FCNTL),
        *(Rule("ioctl", argument=1, when="equals", value=command) for command in _SIGNALLING_IOCTL),
        Rule("prlimit64", argument=2, when="nonzero"),
        Rule("open", argument=1, when="any", value=_WRITING),
        Rule("openat", argument=2, when="any", value=_WRITING),
    ]


def supported(machine: str) -> bool:
    """Whether the system call numbers of this architecture (`os.uname().machine`) are known."""
    return machine in NUMBERS


def assemble(rules: Iterable[Rule], machine: str, allowed: Iterable[str] | None = None) -> bytes:
    """Assemble `struct sock_filter[]`. Raises KeyError for an unknown architecture.

    What no rule refuses passes if `allowed` is None or names it, and is refused with EPERM otherwise. The
    filter starts with the calls a timed kernel makes, so that they cost least.
    """
    numbers = NUMBERS[machine]
    code = [
        _op(_LD_W_ABS, _OFFSET_ARCH),
        _op(_JEQ, audit_architecture(machine), 1, 0),
        _op(_RET, _ERRNO | errno.EPERM),
        _op(_LD_W_ABS, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        code += [_op(_JGE, _X32_BIT, 0, 1), _op(_RET, _ERRNO | errno.EPERM)]
    for name in _HOT.split():
        if (number := numbers.get(name)) is not None:
            code += [_op(_JEQ, number, 0, 1), _op(_RET, _ALLOW)]
    for rule in rules:
        if (number := numbers.get(rule.name)) is not None:
            code += _rule(rule, number)
    if allowed is None:
        code.append(_op(_RET, _ALLOW))
    else:
        for name in sorted(set(allowed) - set(_HOT.split())):
            if (number := numbers.get(name)) is not None:
                code += [_op(_JEQ, number, 0, 1), _op(_RET, _ALLOW)]
        code.append(_op(_RET, _ERRNO | errno.EPERM))
    return b"".join(code)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


def _rule(rule: Rule, number: int) -> list[bytes]:
    refuse = _op(_RET, _ERRNO | rule.error)
    if rule.argument is None:
        return [_op(_JEQ, number, 0, 1), refuse]
    low = _OFFSET_ARGS + 8 * rule.argument
    if rule.when == "nonzero":
        test = [_op(_LD_W_ABS, low), _op(_JEQ, 0, 0, 2), _op(_LD_W_ABS, low + 4), _op(_JEQ, 0, 1, 0), refuse]
    elif rule.when == "differs":
        test = [_op(_LD_W_ABS, low), _op(_JEQ, rule.value, 1, 0), refuse]
    elif rule.when == "equals":
        test = [_op(_LD_W_ABS, low), _op(_JEQ, rule.value, 0, 1), refuse]
    elif rule.when == "any":
        test = [_op(_LD_W_ABS, low), _op(_JSET, rule.value, 0, 1), refuse]
    elif rule.when == "lacks":
        test = [_op(_LD_W_ABS, low), _op(_JSET, rule.value, 1, 0), refuse]
    else:
        raise ValueError(f"unknown condition {rule.when!r}")
    # The accumulator holds an argument now; the number is loaded again for the rules that follow.
    test.append(_op(_LD_W_ABS, _OFFSET_NUMBER))
    return [_op(_JEQ, number, 0, len(test)), *test]
