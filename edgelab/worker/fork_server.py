"""A process with numpy and the TVM runtime loaded that forks a program child in milliseconds.

It runs nothing but `fork` and `waitpid`, on one thread, for the worker at the other end of a socket pair
(one JSON message a datagram): {"op": "fork", and the fields of `program_child.Job`} with the file descriptors
(channel, capture, artefact, and the device's library if it has one) -> {"pid"}; {"op": "reap", "pid", "grace_s"} ->
{"status", "killed"}.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import time
from typing import Any

from . import sandbox

_MAX_MESSAGE_BYTES = 1 << 16
_MAX_DESCRIPTORS = 4
_REAP_POLL_S = 0.001


def load_runtime() -> None:
    """Import everything a child needs: after the fork it may not be able to read files any more."""
    # tvm_ffi imports torch where it is installed, which doubles the start time and the memory.
    sys.modules["torch"] = None  # type: ignore[assignment]
    os.environ["TVM_USE_RUNTIME_LIB"] = "1"
    import numpy as np
    import tvm.runtime.vm
    import tvm_ffi

    from . import program_child  # noqa: F401 - loaded for the children

    # One tensor there and back, so that what the runtime imports lazily is imported as well.
    tvm.runtime.tensor(np.zeros(1, dtype="float32")).numpy()
    tvm_ffi.get_global_func("ffi.Module.load_from_file.so")


def serve(control: socket.socket, worker_pid: int) -> None:
    """Fork and reap for the worker until it closes the control socket; then end all children.

    Returns in the worker's absence (fork server) and after a program's normal end (program child); the
    caller exits in both cases.
    """
    sandbox.die_with_parent(worker_pid)
    sandbox.close_descriptors({control.fileno()})
    load_runtime()
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    control.send(json.dumps({"pid": os.getpid(), **versions()}).encode())
    while True:
        message, fds, _, _ = socket.recv_fds(control, _MAX_MESSAGE_BYTES, _MAX_DESCRIPTORS)
        if not message:
            break
        request = json.loads(message)
        if request["op"] == "fork":
            pid = os.fork()
            if pid == 0:
                _become_program(control, fds, request)
                return
            children.add(pid)
            for fd in fds:
                os.close(fd)
            control.send(json.dumps({"pid": pid}).encode())
        else:
            children.discard(request["pid"])
            control.send(json.dumps(_reap(request["pid"], request["grace_s"])).encode())
    for pid in children:
        _kill_group(pid)


def versions() -> dict[str, str]:
    """Versions of what children run on."""
    import numpy as np
    import tvm

    return {"python": sys.version.split()[0], "numpy": np.__version__, "tvm": tvm.__version__}


def _become_program(control: socket.socket, fds: list[int], request: dict[str, Any]) -> None:
    from .program_child import Job, run_child

    server_pid = os.getppid()
    channel_fd, capture_fd, artefact_fd, *library = fds
    os.setsid()
    control.close()
    os.dup2(capture_fd, 1)
    os.dup2(capture_fd, 2)
    sandbox.close_descriptors({channel_fd, artefact_fd, *library})
    del request["op"]
    job = Job(**request, artefact_fd=artefact_fd, library_fd=library[0] if library else None)
    run_child(socket.socket(fileno=channel_fd), job, server_pid)


def _reap(pid: int, grace_s: float) -> dict[str, Any]:
    """Wait for a child for `grace_s` seconds, then kill its group; its wait status."""
    killed = not _ends_within(pid, grace_s)
    # Also after a normal end: nothing of its group may stay.
    _kill_group(pid)
    return {"status": os.waitpid(pid, 0)[1], "killed": killed}


def _ends_within(pid: int, grace_s: float) -> bool:
    deadline_s = time.monotonic() + grace_s
    # pidfd_open would do without polling, but old kernels of boards do not have it.
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_REAP_POLL_S)
    return True


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
