"""A child process that ends with its parent, however that ends."""

from __future__ import annotations

import os
import signal
import threading


def end_with_parent() -> None:
    """Watch standard input in a thread: when its other end is gone, this process and its group are killed."""
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    # Not through sys.stdin: a thread that waits inside it aborts the interpreter's own exit.
    while os.read(0, 4096):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
