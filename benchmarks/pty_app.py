"""The real app in a pseudo terminal, as benchmarks of screens drive it: keys in, paint out, and what that costs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping

import psutil

_KEY_LIMIT_S = 2.0


class PtyApp:
    """`code` runs in an interpreter of its own with `arguments`; `on_read` sees whatever the app paints."""

    def __init__(
        self,
        code: str,
        *arguments: str,
        size: tuple[int, int],
        environment: Mapping[str, str] | None = None,
        on_read: Callable[[bytes], None],
    ) -> None:
        known = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        self._on_read = on_read
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-c", code, *arguments], known)
        columns, rows = size
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = psutil.Process(self.pid)

    def drain(self, seconds: float, until: bytes = b"") -> bytes:
        """Read what the app paints for `seconds`, or until `until` appears."""
        end_s = time.monotonic() + seconds
        seen = b""
        while (left := end_s - time.monotonic()) > 0:
            ready, _, _ = select.select([self.screen], [], [], left)
            if ready:
                read = os.read(self.screen, 1 << 16)
                self._on_read(read)
                seen += read
                if until and until in seen:
                    break
        return seen

    def key_to_paint_s(self, key: bytes, shows: bytes) -> float | None:
        """Press a key and return how long it took until `shows` was painted; None if it never was."""
        began_s = time.monotonic()
        os.write(self.screen, key)
        return time.monotonic() - began_s if shows in self.drain(_KEY_LIMIT_S, shows) else None

    def cpu_s(self) -> float:
        """Return the processor time of the app so far."""
        times = self.process.cpu_times()
        return times.user + times.system

    def rss_mib(self) -> float:
        """Return the resident memory."""
        return self.process.memory_info().rss / 2**20

    def close(self) -> None:
        """End the app and reap it; what it started ends with its pipes."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.screen)
