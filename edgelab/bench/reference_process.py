"""Conversation with the child process that imports torch and tvm to make a reference bundle."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable

import msgspec

from edgelab.child_group import end_child, how_it_ended, keep_tail, last_words
from edgelab.errors import EdgeLabError, EvaluationFailure, FailureClass, TaskError
from edgelab.kernel.import_errors import UnsupportedOperator

ErrorClass = str
"""`task_error`, `unsupported_operator`, `export_error` or `storage`."""


class Twin(msgspec.Struct, frozen=True):
    """Inputs, filed under `seed`, that are those of `original` but for some elements from `other` (both seeds)."""

    seed: int
    original: int
    other: int


class ChildRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the child shall make, in the existing empty folder `folder`.

    `source` is the task module's text as it runs; `path` names it in messages. With `program` the child writes
    program.py, params.npz and meta.json beside the seeds' files; without, only the seeds' files. `hidden` is
    the seed of the hidden cases; None for none.
    """

    task: str
    path: str
    source: str
    digest: str
    folder: str
    seeds: tuple[int, ...]
    program: bool
    twin: Twin | None = None
    hidden: int | None = None


class ChildLog(msgspec.Struct, frozen=True, tag_field="event", tag="log"):
    """One line of narration."""

    text: str


class ChildError(msgspec.Struct, frozen=True, tag_field="event", tag="error"):
    """Why there is no bundle; `operator` is set for an operator that cannot be imported."""

    error_class: ErrorClass
    message: str
    advice: str = ""
    operator: str = ""
    detail: str = ""


class ChildDone(msgspec.Struct, frozen=True, tag_field="event", tag="done"):
    """Everything that was asked for lies in the folder."""

    elapsed_s: float


ChildEvent = ChildLog | ChildError | ChildDone


async def run_reference_child(
    request: ChildRequest, *, time_limit_s: float, on_log: Callable[[str], None] | None = None
) -> None:
    """Let a child process fill `request.folder`; its whole process group is gone when this returns.

    Raises TaskError for whatever the task is to blame for, the time limit and a crash included, and
    EvaluationFailure (infrastructure) when the folder cannot be written.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # Without -P a file in the operator's working directory could shadow a library.
        *("-P", "-m", "edgelab.bench.reference_child"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    tail = bytearray()
    stderr = asyncio.create_task(keep_tail(process.stderr, tail))
    try:
        async with asyncio.timeout(time_limit_s):
            ended = await _converse(process, request, on_log)
            if ended is None:
                await process.wait()
    except TimeoutError:
        raise TaskError(
            f"task {request.task}: its reference was not ready after {time_limit_s:g} s.",
            advice=f"Look for an endless loop or too much work in {request.path}, or raise the limit.",
        ) from None
    finally:
        await end_child(process, stderr)
    if isinstance(ended, ChildError):
        raise _error_of(ended, request.task)
    if ended is None:
        raise _crash(request, process.returncode, tail)


async def _converse(
    process: asyncio.subprocess.Process, request: ChildRequest, on_log: Callable[[str], None] | None
) -> ChildDone | ChildError | None:
    """Send the request and read events up to the last one; None when the child ends without it."""
    assert process.stdin is not None
    assert process.stdout is not None
    # A child that dies early is told apart by its exit status, not by the broken pipe.
    with contextlib.suppress(ConnectionError):
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        await process.stdin.drain()
    while line := await _read_line(process.stdout):
        event = msgspec.json.decode(line, type=ChildEvent)
        if not isinstance(event, ChildLog):
            return event
        if on_log is not None:
            on_log(event.text)
    return None


async def _read_line(stream: asyncio.StreamReader) -> bytes:
    """One line without a limit on its length; empty at the end of the stream."""
    parts = []
    while True:
        try:
            return b"".join([*parts, await stream.readuntil(b"\n")])
        except asyncio.LimitOverrunError as error:
            parts.append(await stream.readexactly(error.consumed))
        except asyncio.IncompleteReadError:
            return b""


def _error_of(event: ChildError, task: str) -> EdgeLabError:
    if event.error_class == "storage":
        return EvaluationFailure(
            FailureClass.INFRASTRUCTURE, event.message, detail=event.detail, advice=event.advice
        )
    if event.error_class == "unsupported_operator":
        return UnsupportedOperator(event.operator, task, detail=event.detail)
    error = TaskError(event.message, advice=event.advice)
    if event.detail:
        error.add_note(event.detail)
    return error


def _crash(request: ChildRequest, status: int | None, tail: bytearray) -> TaskError:
    error = TaskError(
        f"task {request.task}: the process that runs {request.path} {how_it_ended(status)}{last_words(tail)}.",
        advice="It may have run out of memory." if status == -signal.SIGKILL else "",
    )
    if said := tail.decode(errors="replace").strip():
        error.add_note(said)
    return error
