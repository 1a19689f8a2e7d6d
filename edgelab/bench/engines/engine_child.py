"""Child process of one engine: prepares a task, checks out what it computes, times blocks of calls.

    python -P -m edgelab.bench.engines.engine_child RUNNER DESCRIPTOR

RUNNER is `module:class`, DESCRIPTOR the number of an inherited stream socket. The engine and the task's file
are trusted as in the reference child: they may read and write what the operator may, but they end with it.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import math
import os
import resource
import socket
import sys
import time
import traceback
from pathlib import Path

import msgspec
import numpy as np

from edgelab.bench.engines.engine import EngineFailure
from edgelab.bench.engines.messages import Called, Failed, Inputs, OutputSpec, Preparation, Prepared
from edgelab.bench.engines.runner_child import Runner, Work, broken, first_line, refused
from edgelab.bench.parent_watch import end_with_parent
from edgelab.bench.reference import META_NAME, BundleMeta
from edgelab.bench.task_model_child import TaskModel
from edgelab.errors import EdgeLabError
from edgelab.worker.channel import Channel, ChannelClosed, Frame, Kind, as_bytes

_MAX_DETAIL_CHARS = 16_000


class EngineChild:
    """One runner and the answers to frames about it."""

    def __init__(self, runner: Runner, channel: Channel) -> None:
        self._runner = runner
        self._channel = channel
        self._outputs: list[np.ndarray] = []

    def serve(self) -> None:
        """Answer frames until EXIT or until the other end is closed."""
        while True:
            try:
                frame = self._channel.receive(math.inf)
            except ChannelClosed:
                return
            if frame.kind == Kind.EXIT:
                return
            try:
                self._answer(frame)
            except EngineFailure as failure:
                failed = Failed(failure.problem, failure.message, failure.detail[-_MAX_DETAIL_CHARS:])
                self._send(Kind.FAILED, failed)

    def _answer(self, frame: Frame) -> None:
        if frame.kind == Kind.BLOCK:
            start_ns, end_ns = self._block(frame.first)
            self._channel.send(Kind.DONE, first=start_ns, second=end_ns, deadline_s=math.inf)
        elif frame.kind == Kind.LOAD:
            self._send(Kind.DONE, self._prepare(msgspec.convert(frame.body, Preparation)))
        elif frame.kind == Kind.UPLOAD:
            self._take(msgspec.convert(frame.body, Inputs))
            self._channel.send(Kind.DONE, deadline_s=math.inf)
        elif frame.kind == Kind.CALL:
            self._send(Kind.DONE, self._call())
        elif frame.kind == Kind.FETCH:
            data = as_bytes(self._outputs[frame.first])
            self._channel.send(Kind.DONE, payload=[data], deadline_s=math.inf)
        elif frame.kind == Kind.DROP:
            self._outputs = []
            self._channel.send(Kind.DONE, deadline_s=math.inf)
        else:
            raise EngineFailure("failed", f"the frame kind {frame.kind} means nothing to an engine")

    def _send(self, kind: Kind, body: msgspec.Struct) -> None:
        self._channel.send(kind, msgspec.to_builtins(body), deadline_s=math.inf)

    def _prepare(self, asked: Preparation) -> Prepared:
        begin_s = time.monotonic()
        _limit_memory(asked.memory_bytes)
        try:
            task = TaskModel(asked.task, Path(asked.path), Path(asked.source_path).read_text())
            meta = msgspec.json.decode((Path(asked.bundle) / META_NAME).read_bytes(), type=BundleMeta)
            example = read_inputs(asked.example_inputs)
        except (EdgeLabError, OSError, msgspec.DecodeError) as error:
            raise EngineFailure("failed", f"the task could not be loaded: {first_line(error)}") from error
        work = Work(
            task=task, key=asked.digest, example=example, outputs=meta.outputs,
            cache=Path(asked.cache), threads=asked.threads,
        )  # fmt: skip
        with refused("it does not take this task"):
            self._runner.prepare(work)
        # Collections would fall into timed blocks, and what is alive now stays.
        gc.collect()
        gc.freeze()
        gc.disable()
        return Prepared(settings=self._runner.settings, elapsed_s=time.monotonic() - begin_s)

    def _take(self, asked: Inputs) -> None:
        with refused("it does not take these inputs"):
            if asked.renew:
                self._runner.renew()
            self._runner.take(read_inputs(asked.path))

    def _call(self) -> Called:
        self._outputs = []
        with broken("it failed while it ran"), self._runner.mode():
            # Copies: an engine may put the next call's outputs into the same memory.
            outputs = self._runner.outputs(self._runner.call())
            self._outputs = [np.array(output, order="C", copy=True) for output in outputs]
        return Called(tuple(OutputSpec(output.shape, output.dtype.name) for output in self._outputs))

    def _block(self, calls: int) -> tuple[int, int]:
        """Call `calls` times; clock readings (perf_counter_ns) right before and right after, as for programs."""
        call = self._runner.call
        with broken("it failed while it was timed"), self._runner.mode():
            start_ns = time.perf_counter_ns()
            for _ in itertools.repeat(None, calls):
                call()
            return start_ns, time.perf_counter_ns()


def read_inputs(path: str) -> tuple[np.ndarray, ...]:
    """Return the arrays in0, in1, ... of a bundle's file."""
    with np.load(path, allow_pickle=False) as arrays:
        return tuple(arrays[f"in{index}"] for index in range(len(arrays.files)))


def _limit_memory(memory_bytes: int) -> None:
    """Bound what this process may have beyond what its libraries took already.

    Private writable memory counts, not address space: the engines reserve far more of that than they use.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    used_kib = next((int(line.split()[1]) for line in lines if line.startswith("VmData:")), 0)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    wanted = used_kib * 1024 + memory_bytes
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def main(runner_name: str, descriptor: str) -> None:
    """Serve one controller over the inherited socket."""
    # What the libraries and the task print is kept as last words.
    os.dup2(2, 1)
    end_with_parent()
    channel = Channel(socket.socket(fileno=int(descriptor)))
    module, _, name = runner_name.partition(":")
    try:
        runner: Runner = getattr(importlib.import_module(module), name)()
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is the reason
        failed = Failed("failed", f"it cannot be imported: {first_line(error)}", traceback.format_exc())
        channel.send(Kind.FAILED, msgspec.to_builtins(failed), deadline_s=math.inf)
    else:
        channel.send(Kind.READY, deadline_s=math.inf)
        EngineChild(runner, channel).serve()
    sys.stderr.flush()
    # The libraries' own teardown takes time and has crashed; nothing is left to be written.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
