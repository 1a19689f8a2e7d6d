"""Confines a build child: memory limit, no core dump, death with its server, and no sockets or tracing."""

from __future__ import annotations

import os
import resource

from edgelab.worker import sandbox, seccomp

_REFUSED = """
socket connect ptrace process_vm_readv process_vm_writev bpf perf_event_open unshare setns mount io_uring_setup
"""


def confine(memory_limit_bytes: int, parent: int) -> None:
    """Confine the calling process for good. `parent` is the process id that it must not outlive.

    Milder than a program child's sandbox: a build writes files and runs the linker. Raises OSError where
    the kernel refuses. On another CPU architecture than x86-64 and AArch64 the system call filter is left
    out.
    """
    sandbox.die_with_parent(parent)
    resource.setrlimit(resource.RLIMIT_AS, (memory_limit_bytes, memory_limit_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if seccomp.supported(os.uname().machine):
        state = sandbox.install([seccomp.Rule(name) for name in _REFUSED.split()])
        if state != "on":
            raise OSError(f"the system call filter is {state}")
