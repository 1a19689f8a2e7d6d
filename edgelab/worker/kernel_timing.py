"""Times plain kernels for a tuner: many artefacts in one blob, each in a program child of its own, one by one."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from typing import Any

from .blobs import BlobFolder
from .channel import Kind
from .failures import HACK, INFRASTRUCTURE, WorkerFailure
from .program import ForkServer, Limits, Program
from .protocol import MalformedRequest, Request

_MAX_KERNELS = 4096
_MAX_TENSORS = 256
_COPY_BYTES = 1 << 20


def measure_kernels(
    request: Request,
    limits: Limits,
    server: ForkServer,
    blobs: BlobFolder,
    hangup_fd: int,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Time every kernel of a request; what goes wrong with one is its result and the next one is timed.

    The request names `artefacts`, a blob that holds the libraries one after the other, `places`
    ([[offset, size]]), `function`, `tensors` ([[shape, dtype]]), `seed`, `block_s`, `blocks` and `single_s`; `limits`
    hold for loading and timing one kernel. With `forget` the blob is deleted afterwards, since a search would fill
    the device with them. The answer has one entry a place: {latencies_s, calls} or {class, message}. Raises
    MalformedRequest, and WorkerFailure for the blob.
    """
    places, job = _places(request), _job(request)
    blob_fd = blobs.open(request.fields.get("artefacts"))
    results: list[dict[str, Any]] = []
    try:
        size = os.fstat(blob_fd).st_size
        if any(offset + length > size for offset, length in places):
            raise MalformedRequest(f"{request.op}: a place lies outside of the blob", request.id)
        for number, (offset, length) in enumerate(places):
            try:
                results.append(_time_one(blob_fd, offset, length, job, limits, server, hangup_fd))
            except WorkerFailure as failure:
                if failure.failure_class == INFRASTRUCTURE:
                    raise
                results.append({"class": failure.failure_class, "message": failure.message})
            progress(number + 1, len(places))
    finally:
        os.close(blob_fd)
    if request.fields.get("forget") is True:
        blobs.forget(request.text("artefacts"))
    return {"kernels": results}


def _time_one(
    blob_fd: int,
    offset: int,
    length: int,
    job: dict[str, Any],
    limits: Limits,
    server: ForkServer,
    hangup_fd: int,
) -> dict[str, Any]:
    artefact_fd = _slice(blob_fd, offset, length)
    try:
        program = Program("kernel", server, limits, artefact_fd, hangup_fd)
    finally:
        os.close(artefact_fd)
    try:
        body = program.request(Kind.KERNEL, limits.time_s, job).body
    finally:
        # Killed, not asked to end: what its exit would show is a verdict on candidates, not on schedules.
        program.close()
    return _checked(body)


def _checked(body: dict[str, Any]) -> dict[str, Any]:
    latencies, calls = body.get("latencies_s"), body.get("calls")
    if (
        not isinstance(latencies, list)
        or not latencies
        or type(calls) is not int
        or not all(isinstance(value, float) and math.isfinite(value) and value > 0 for value in latencies)
    ):
        raise WorkerFailure(HACK, "the kernel's child reported latencies that are none", program="kernel")
    return {"latencies_s": latencies, "calls": calls}


def _slice(blob_fd: int, offset: int, length: int) -> int:
    """A file of its own with a part of the blob, which the child can load by its descriptor."""
    try:
        fd = os.memfd_create("kernel", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        while length:
            part = os.pread(blob_fd, min(length, _COPY_BYTES), offset)
            os.write(fd, part)
            offset, length = offset + len(part), length - len(part)
        os.fchmod(fd, 0o444)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _places(request: Request) -> list[tuple[int, int]]:
    places = request.fields.get("places")
    if (
        not isinstance(places, list)
        or not 0 < len(places) <= _MAX_KERNELS
        or not all(
            isinstance(place, list) and len(place) == 2 and all(map(_whole, place)) for place in places
        )
    ):
        raise MalformedRequest(f"{request.op}: places is a list of [offset, size]", request.id)
    return [(offset, size) for offset, size in places]


def _job(request: Request) -> dict[str, Any]:
    tensors = request.fields.get("tensors")
    if (
        not isinstance(tensors, list)
        or len(tensors) > _MAX_TENSORS
        or not all(isinstance(spec, list) and len(spec) == 2 and isinstance(spec[1], str) for spec in tensors)
        or not all(isinstance(shape, list) and all(map(_whole, shape)) for shape, _ in tensors)
    ):
        raise MalformedRequest(f"{request.op}: tensors is a list of [shape, dtype]", request.id)
    return {
        "function": request.text("function"),
        "tensors": tensors,
        "seed": request.whole("seed", 0),
        "block_s": request.number("block_s"),
        "blocks": request.whole("blocks", 1, 1000),
        "single_s": request.number("single_s"),
    }


def _whole(value: object) -> bool:
    return type(value) is int and value >= 0
