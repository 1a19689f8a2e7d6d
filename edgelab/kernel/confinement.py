"""Confines a build child: memory limit, no core dump, death with its server, and no sockets or tracing."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

_LOAD_WORD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_GREATER_OR_EQUAL = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_REFUSE = 0x00050000 | 1
"""SECCOMP_RET_ERRNO with EPERM."""

_X32_BIT = 0x40000000
_IO_URING_SETUP = 425

# AUDIT_ARCH value, then: socket, connect, ptrace, process_vm_readv, process_vm_writev, bpf, perf_event_open, unshare,
# setns, mount (include/uapi/asm-generic/unistd.h and arch/x86/entry/syscalls/syscall_64.tbl).
_SYSCALLS = {
    "x86_64": (0xC000003E, (41, 42, 101, 310, 311, 321, 298, 272, 308, 165)),
    "aarch64": (0xC00000B7, (198, 203, 117, 270, 271, 280, 241, 97, 268, 40)),
}


def confine(memory_limit_bytes: int, parent: int) -> None:
    """Confine the calling process for good. `parent` is the process id that it must not outlive.

    Raises OSError where the kernel refuses. On another CPU architecture than x86-64 and AArch64 the
    system call filter is left out.
    """
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_AS, (memory_limit_bytes, memory_limit_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if platform.machine() in _SYSCALLS:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _install_filter(*_SYSCALLS[platform.machine()])


def _prctl(option: int, argument: int, pointer: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(value) for value in (argument, pointer, 0, 0)]
    if libc.prctl(option, *arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")


def _install_filter(architecture: int, refused: tuple[int, ...]) -> None:
    """Classic BPF over struct seccomp_data: `nr` at offset 0, `arch` at offset 4."""
    program = [
        (_LOAD_WORD, 0, 0, 4),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD_WORD, 0, 0, 0),
        (_JUMP_GREATER_OR_EQUAL, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for number in (*refused, _IO_URING_SETUP):
        program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(header, len(header))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(holder))
