"""One program in a process of its own: loads it, calls it, times blocks of calls.

Runs in a fork of the fork server, inside the sandbox. The code it loads is not trusted, so nothing here
is a secret and nothing it says is believed: the worker checks outputs, sizes and clocks itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import math
import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import execution_device, kernel_child, sandbox
from .channel import Channel, ChannelClosed, Frame, Kind, as_bytes
from .execution_device import ExecutionDevice
from .failures import CRASH, MEMORY, SYNTAX_API, WorkerFailure, classify_message

# glibc fills an allocation with the complement of the low byte of this value, here 0xFF: NaN in every floating
# format (and -1), which not even a multiplication by zero hides. Freed memory gets the low byte. The bit above
# it makes the value differ from 0, which means off (mallopt(3), M_PERTURB; malloc.c, alloc_perturb).
_POISON = 0x100
_M_PERTURB, _M_MMAP_THRESHOLD = -6, -3
# Blocks up to the largest threshold glibc accepts come from the heap, where an overrun meets its checks.
_LARGEST_MMAP_THRESHOLD = 32 << 20
_MAX_DETAIL_CHARS = 16_000


@dataclass(frozen=True)
class Job:
    """What a child is forked for.

    `memory_bytes` bounds its address space (None: unlimited), `cpus` its cores (None: all). `device` and
    `index` say where the program runs; `library_fd` is the runtime that this takes, `kernel_cache` the folder
    that its driver may compile into, `uid` the user that owns this folder (None: a user of the child's own).
    """

    memory_bytes: int | None
    threads: int
    cpus: list[int] | None
    device: str
    index: int
    kernel_cache: str | None
    uid: int | None
    artefact_fd: int
    library_fd: int | None

    @property
    def place(self) -> ExecutionDevice:
        """Where the program runs."""
        return ExecutionDevice(self.device, self.index)


def run_child(end: socket.socket, job: Job, parent_pid: int) -> None:
    """Serve one program until the worker says exit; then end the process normally."""
    clear_refs_fd = _open_if_possible("/proc/self/clear_refs", os.O_WRONLY)
    _configure_threads(job.threads, job.cpus)
    execution_device.configure(job.place, job.threads, job.kernel_cache)
    report = sandbox.isolate(
        memory_bytes=job.memory_bytes,
        threads=job.threads,
        parent_pid=parent_pid,
        uid=job.uid,
        driver=job.place.has_driver,
    )
    channel = Channel(end)
    channel.send(Kind.READY, report.as_dict(), deadline_s=math.inf)
    # For all calls alike: a program must not see by its addresses whether it is checked or timed.
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    program = Program(job, clear_refs_fd)
    gc.disable()
    while True:
        try:
            frame = channel.receive(math.inf, payload_bytes=sys.maxsize)
        except ChannelClosed:
            os._exit(1)  # The worker is gone, and nobody wants to know how the program ends.
        if frame.kind == Kind.EXIT:
            program.close()
            # libc's exit, not Python's: the runtime's own destructors run, and thereby any damage shows,
            # without the ten milliseconds that taking numpy's and TVM's modules apart would cost.
            ctypes.CDLL(None).exit(0)
        try:
            program.serve(channel, frame)
        except WorkerFailure as failure:
            body = {"class": failure.failure_class, "message": failure.message, "detail": failure.detail}
            channel.send(Kind.FAILED, body, deadline_s=math.inf)


class Program:
    """A loaded program and the tensors it works on."""

    def __init__(self, job: Job, clear_refs_fd: int | None) -> None:
        self._job = job
        self._place = job.place
        self._clear_refs_fd = clear_refs_fd
        # Another one is opened when the worker asks for it.
        self._device: Any = execution_device.cpu()
        self._confined = False
        self._free_bytes: int | None = None
        self._main: Any = None
        self._machine: Any = None
        self._arguments: dict[str, list[Any]] = {}
        self._outputs: list[Any] = []
        self._timed: Any = None

    def serve(self, channel: Channel, frame: Frame) -> None:
        """Answer one frame. Raises WorkerFailure, which the caller reports."""
        if frame.kind == Kind.BLOCK:
            start_ns, end_ns = self.block(frame.first)
            channel.send(Kind.DONE, first=start_ns, second=end_ns, deadline_s=math.inf)
        elif frame.kind == Kind.OPEN:
            self.open()
            channel.send(Kind.DONE, deadline_s=math.inf)
        elif frame.kind == Kind.LOAD:
            channel.send(Kind.DONE, {"files": self.load()}, deadline_s=math.inf)
        elif frame.kind == Kind.UPLOAD:
            self.upload(channel, frame)
            channel.send(Kind.DONE, deadline_s=math.inf)
        elif frame.kind == Kind.CALL:
            call = self.call_poisoned if frame.body["poisoned"] else self.call
            channel.send(Kind.DONE, call(), deadline_s=math.inf)
        elif frame.kind == Kind.TAKE:
            channel.send(Kind.DONE, self.take(), deadline_s=math.inf)
        elif frame.kind == Kind.FETCH:
            data = np.require(self._outputs[frame.first].numpy(), requirements=["C"])
            channel.send(Kind.DONE, payload=[as_bytes(data)], deadline_s=math.inf)
        elif frame.kind == Kind.SPOIL:
            self.spoil(frame.first)
            channel.send(Kind.DONE, deadline_s=math.inf)
        elif frame.kind == Kind.DROP:
            self._outputs = []
            channel.send(Kind.DONE, deadline_s=math.inf)
        elif frame.kind == Kind.MEMORY:
            body = {"reset": self.measure_peak(), "device_bytes": self._used_bytes()}
            channel.send(Kind.DONE, body, deadline_s=math.inf)
        elif frame.kind == Kind.KERNEL:
            found = kernel_child.measure(self._job.artefact_fd, frame.body, _reported, _start_and_confine)
            channel.send(Kind.DONE, found, deadline_s=math.inf)

    def open(self) -> None:
        """Open the device. Nothing of the program has run by then, so what fails here is not its fault."""
        with _reported("could not be given its device"):
            self._device = execution_device.open_device(self._place, self._job.library_fd)
            self._free_bytes = execution_device.free_bytes(self._place, self._device)

    def load(self) -> str:
        """Load the shared library and bind `main`; returns whether the second filter holds from now on."""
        import tvm_ffi
        from tvm.runtime.vm import VirtualMachine

        loader = tvm_ffi.get_global_func("ffi.Module.load_from_file.so")
        with _reported("could not be loaded", default_class=SYNTAX_API):
            # By descriptor: the folder of blobs is closed to this process.
            module = loader(f"/proc/self/fd/{self._job.artefact_fd}", "so")
            self._machine = VirtualMachine(module, self._device)
            self._main = self._machine["main"]
        os.close(self._job.artefact_fd)
        _start_thread_pool()
        return self._confine() if not self._place.has_driver else "after the first call"

    def _confine(self) -> str:
        """Put up what filters are still missing, once. A driver has compiled by then, and has its threads."""
        if self._confined:
            return "on"
        self._confined = True
        if self._place.has_driver:
            return sandbox.confine_driver(device_calls=self._place.own_memory)
        return sandbox.confine_loaded()

    def upload(self, channel: Channel, frame: Frame) -> None:
        """Receive input tensors: body {slot, tensors: [[shape, dtype]]}, payload their bytes in order.

        With `in_place` in the body the slot's tensors stay where they are and get the new values.
        """
        from tvm.runtime import tensor

        slot, unread = frame.body["slot"], frame.payload_bytes
        before = self._arguments.pop(slot, [])
        there = iter(before if frame.body.get("in_place") else ())
        if not frame.body.get("in_place"):
            before.clear()
        tensors = []
        try:
            with _reported("has no room for its inputs"):
                for shape, dtype in frame.body["tensors"]:
                    array = np.empty(shape, dtype=dtype)
                    channel.receive_payload(as_bytes(array), math.inf)
                    unread -= array.nbytes
                    held = next(there, None)
                    tensors.append(tensor(array, self._device) if held is None else held.copyfrom(array))
        finally:
            channel.skip_payload(unread, math.inf)
        self._arguments[slot] = tensors

    def call_poisoned(self) -> dict[str, Any]:
        """Do `call` in poisoned memory."""
        self.drop()
        if self._place.own_memory:
            execution_device.fill_free_memory(self._device)
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_PERTURB, _POISON)
        try:
            return self.call()
        finally:
            libc.mallopt(_M_PERTURB, 0)

    def call(self) -> dict[str, Any]:
        """Call `main` on the inputs of slot `verify`, in the same state as a timed call; describes the outputs."""
        with _reported("failed while it ran"):
            result = self._main(*self._arguments["verify"])
            self._device.sync()
        self._confine()
        return self._keep(result)

    def take(self) -> dict[str, Any]:
        """Keep the outputs of the last timed call, to be fetched; describes them."""
        result, self._timed = self._timed, None
        return self._keep(result)

    def _keep(self, result: Any) -> dict[str, Any]:
        self._outputs, structure = _flatten(result)
        return {
            "structure": structure,
            "outputs": [[list(map(int, output.shape)), str(output.dtype)] for output in self._outputs],
        }

    def spoil(self, chosen: int) -> None:
        """Change one element of each kept output, where it lies, and give the memory back to the pool.

        `chosen` says which, by its remainder. A program that finds its last result there and takes it for
        the next one returns the changed element.
        """
        with _reported("could not have its outputs changed"):
            for output in self._outputs:
                values = output.numpy().copy()
                flat = values.reshape(-1)
                place = chosen % flat.size
                flat[place] = 0 if abs(float(flat[place])) > 0.5 else 1
                output.copyfrom(values)
        self._outputs = []

    def drop(self) -> None:
        """Free the outputs and everything the pool keeps, so that glibc looks at all the chunks."""
        import tvm_ffi

        self._outputs = []
        self._timed = None
        tvm_ffi.get_global_func("vm.builtin.memory_manager.clear")()

    def block(self, calls: int) -> tuple[int, int]:
        """Call `main` `calls` times; clock readings (perf_counter_ns) right before and right after.

        The loop calls the same function object in the same way as verification does, so that a program
        cannot tell them apart. It adds 0.9 us a call, the runtime's own time_evaluator 0.5 us (measured
        on an empty-handed 1 us kernel); that one makes an untimed call of its own before each block. A GPU has
        nothing left to do at either reading. The last result is kept until the next block: whether the worker
        asks for it is not known here.
        """
        arguments, main = self._arguments["timing"], self._main
        self._timed = None
        if self._place.has_driver:
            return self._block_of_driver(calls)
        with _reported("failed while it was timed"):
            start_ns = time.perf_counter_ns()
            for _ in itertools.repeat(None, calls - 1):
                main(*arguments)
            self._timed = main(*arguments)
            return start_ns, time.perf_counter_ns()

    def _block_of_driver(self, calls: int) -> tuple[int, int]:
        arguments, main, wait = self._arguments["timing"], self._main, self._device.sync
        with _reported("failed while it was timed"):
            wait()
            start_ns = time.perf_counter_ns()
            for _ in itertools.repeat(None, calls - 1):
                main(*arguments)
            self._timed = main(*arguments)
            wait()
            end_ns = time.perf_counter_ns()
        self._confine()
        return start_ns, end_ns

    def measure_peak(self) -> bool:
        """Reset the peak of resident memory and call `main` once; False if it could not be reset."""
        reset = False
        if self._clear_refs_fd is not None:
            with contextlib.suppress(OSError):
                os.write(self._clear_refs_fd, b"5")
                reset = True
        if "timing" in self._arguments:
            self.block(1)
        return reset

    def _used_bytes(self) -> int | None:
        """How much of a GPU's own memory went since it was opened; its allocator gives nothing back before the end."""
        left = execution_device.free_bytes(self._place, self._device)
        return None if left is None or self._free_bytes is None else max(0, self._free_bytes - left)

    def close(self) -> None:
        """Free everything in the order a program would, so that damage shows before the exit."""
        self._arguments.clear()
        # The virtual machine keeps the last result, so the pool is emptied after it.
        self._main = self._machine = None
        gc.collect()
        self.drop()


def _flatten(result: Any) -> tuple[list[Any], str]:
    from tvm.runtime import Tensor

    if isinstance(result, Tensor):
        return [result], "tensor"
    try:
        items = list(result)
    except TypeError:
        return [], type(result).__name__
    if all(isinstance(item, Tensor) for item in items):
        return items, "tuple"
    return [], f"tuple of {', '.join(type(item).__name__ for item in items)}"


@contextlib.contextmanager
def _reported(what: str, *, default_class: str | None = None) -> Iterator[None]:
    """Turn whatever the runtime raises into a failure with a class."""
    try:
        yield
    except MemoryError as error:
        raise WorkerFailure(MEMORY, f"{what}: out of memory") from error
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        failure_class = classify_message(text)
        if default_class is not None and failure_class != MEMORY:
            failure_class = default_class
        lines = [line for line in text.splitlines() if line.strip()]
        raise WorkerFailure(
            failure_class, f"{what}: {lines[-1].strip()[:500]}", detail=text[-_MAX_DETAIL_CHARS:]
        ) from error


def _configure_threads(threads: int, cpus: list[int] | None) -> None:
    """Set up the runtime's thread pool, which reads the environment when it is first used.

    An idle pool thread spins 300,000 times by default, which was 65-85 ms of a core after each call here
    and would run into the other program's block. With 200 it is asleep after 0.2-0.4 ms, and calls in a
    row still find it awake (4.5-7 us for a parallel loop, as by default). Threads are not bound one by one,
    since a busy core would then hold up the whole pool; `cpus` restricts all of them together.
    """
    os.environ["TVM_NUM_THREADS"] = str(threads)
    os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = "200"
    os.environ["TVM_BIND_THREADS"] = "0"
    if cpus is not None:
        os.sched_setaffinity(0, cpus)


def _start_thread_pool() -> None:
    """Start the runtime's threads by a parallel launch of nothing; none can be started afterwards."""
    libraries = ctypes.CDLL(None)
    # sched_yield takes no arguments and returns 0, which is all that the launch asks of a function.
    nothing = ctypes.cast(libraries.sched_yield, ctypes.c_void_p)
    if libraries.TVMBackendParallelLaunch(nothing, None, ctypes.c_int(0)) != 0:
        raise WorkerFailure(CRASH, "could not start the threads of the runtime")


def _start_and_confine() -> str:
    """Start the threads and close the sandbox behind them."""
    _start_thread_pool()
    return sandbox.confine_loaded()


def _open_if_possible(path: str, flags: int) -> int | None:
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError:
        return None
