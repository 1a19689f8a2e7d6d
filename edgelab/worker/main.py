"""Entry of the worker: `edgelab-worker.pyz --blobs DIR`, requests on stdin, replies on stdout."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

_START_LIMIT_S = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the worker until its stdin closes; the exit status is 0, or 1 if the runtime does not load."""
    arguments = argparse.ArgumentParser(prog="edgelab-worker", description=__doc__)
    arguments.add_argument("--blobs", type=Path, required=True, help="folder of blobs named by SHA-256")
    blobs = arguments.parse_args(argv).blobs
    # One thread a process: a fork of a process with threads would inherit their locks without them.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    reading, writing = _take_standard_streams()
    control = _start_fork_server()
    if control is None:
        return 0
    return _serve(control, reading, writing, blobs)


def _take_standard_streams() -> tuple[int, int]:
    """Keep stdin and stdout to the protocol alone: a stray print goes to stderr from here on."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing


def _start_fork_server() -> socket.socket | None:
    """Fork before anything heavy is imported. The worker's end, or None in processes that are to exit."""
    worker_pid = os.getpid()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        from .fork_server import serve

        serve(theirs, worker_pid)
        return None
    theirs.close()
    return ours


def _serve(control: socket.socket, reading: int, writing: int, blobs: Path) -> int:
    from . import sandbox
    from .blobs import BlobFolder
    from .program import ForkServer, ForkServerGone
    from .protocol import Controller
    from .service import Service

    sandbox.protect_memory()
    control.settimeout(_START_LIMIT_S)
    hello = control.recv(1 << 16)
    if not hello:
        sys.stderr.write("edgelab-worker: numpy and the TVM runtime could not be loaded (see above)\n")
        return 1
    try:
        Service(
            Controller(reading, writing), ForkServer(control, json.loads(hello)), BlobFolder(blobs)
        ).serve()
    except ForkServerGone as error:
        sys.stderr.write(f"edgelab-worker: {error}\n")
        return 1
    finally:
        # The fork server ends its children and itself when this closes.
        control.close()
        os.wait()
    return 0
