"""How the end of a child process reads, and that its whole group goes with it."""

from __future__ import annotations

import asyncio
import sys

import pytest

from edgelab.child_group import end_child, how_it_ended, keep_tail, last_words
from tests.support.task_files import runs, until


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (-9, "was killed by SIGKILL"),
        (-11, "was killed by SIGSEGV"),
        (3, "ended with exit status 3 and without a result"),
        (0, "ended with exit status 0 and without a result"),
    ],
)
def test_an_exit_status_in_words(status, said):
    assert how_it_ended(status) == said


def test_last_words_are_the_last_line_or_nothing():
    assert last_words(bytearray(b"one\ntwo \xff\n")) == "; its last words: two \N{REPLACEMENT CHARACTER}"
    assert last_words(bytearray(b" \n")) == ""


async def test_the_tail_is_bounded_and_the_group_ends():
    code = """
import os, signal, subprocess, sys
other = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
sys.stderr.write("x" * 100_000 + f"\\n{other.pid}\\n")
sys.stderr.flush()
signal.pause()
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    tail = bytearray()
    stderr = asyncio.create_task(keep_tail(process.stderr, tail))
    await until(lambda: tail.endswith(b"\n") and tail[:-1].rfind(b"\n") >= 0)
    other = int(tail.split()[-1])
    assert len(tail) == 16 * 1024
    assert runs(other)
    await end_child(process, stderr)
    assert process.returncode == -9
    await until(lambda: not runs(other), limit_s=20)
