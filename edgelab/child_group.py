"""What every child process here needs: its last words, its end as a group, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

_TAIL_BYTES = 16 * 1024
_GRACE_S = 2.0


async def keep_tail(stream: asyncio.StreamReader | None, tail: bytearray) -> None:
    """Read `stream` to its end and keep its last 16 KiB in `tail`."""
    assert stream is not None
    while chunk := await stream.read(64 * 1024):
        tail += chunk
        del tail[:-_TAIL_BYTES]


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process together with its group and reap it, also while being cancelled."""
    # What sudo runs belongs to root, and ends by its own limit at the latest.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())


async def end_child(process: asyncio.subprocess.Process, stderr: asyncio.Task[None]) -> None:
    """Kill what is left of the child's process group and reap the child, whose stderr is read by `stderr`."""
    await end_group(process)
    # A descendant in a session of its own may hold the pipe open for ever.
    await asyncio.wait([stderr], timeout=_GRACE_S)
    stderr.cancel()


def how_it_ended(status: int | None) -> str:
    """Return an exit status of asyncio as part of a sentence: `was killed by SIGSEGV`."""
    if status is not None and status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with exit status {status} and without a result"


def last_words(tail: bytearray) -> str:
    """Return the last line that a child wrote to stderr as part of a sentence, empty when it was silent."""
    said = tail.decode(errors="replace").strip()
    return f"; its last words: {said.splitlines()[-1]}" if said else ""
