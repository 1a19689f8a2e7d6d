"""The operations of the worker: one handler each, from a request to the fields of its `done` event."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from . import PROTOCOL_VERSION
from .blobs import BlobFolder
from .channel import Kind
from .compare import Tolerance
from .execution_device import KINDS, ExecutionDevice
from .failures import INFRASTRUCTURE, ControllerGone, WorkerFailure
from .kernel_caches import KernelCaches
from .kernel_timing import measure_kernels
from .program import ON_CPU, ForkServer, Limits, Place, Program, memory_reading
from .protocol import Controller, MalformedRequest, Request, parse_request
from .rotation import Rotation, TimedInput
from .sample import read_nodes, sample
from .timing import Plan, time_block, time_pairs
from .verification import verify

_MEMORY_LIMIT_S = 60.0
_UNLOAD_LIMIT_S = 10.0
_MAX_PROGRAMS = 8
_MAX_CPUS = 1024
_MAX_NODES = 256
_MAX_DEVICES = 256


class Service:
    """Serves one controller. Programs are known by the names the controller gave them."""

    def __init__(self, controller: Controller, server: ForkServer, blobs: BlobFolder) -> None:
        self._controller = controller
        self._server = server
        self._blobs = blobs
        self._programs: dict[str, Program] = {}
        self._rotations: dict[str, Rotation] = {}
        self._last_rotation: Rotation | None = None
        self._kernel_caches = KernelCaches()
        self._ending = False
        self._handlers: dict[str, Callable[[Request], dict[str, Any]]] = {
            "hello": self._hello,
            "load": self._load,
            "verify": self._verify,
            "prepare_timing": self._prepare_timing,
            "pair": self._pair,
            "block": self._block,
            "memory": self._memory,
            "sample": lambda request: {**sample(), "nodes": read_nodes(_paths(request))},
            "measure_kernels": self._measure_kernels,
            "unload": self._unload,
            "shutdown": self._shutdown,
        }

    def serve(self) -> None:
        """Answer requests until stdin closes or `shutdown`; then end all programs."""
        try:
            for line in self._controller.lines():
                self._answer(line)
                if self._ending:
                    break
        except (ControllerGone, BrokenPipeError):
            pass
        for program in self._programs.values():
            program.close()
        self._kernel_caches.close()

    def _answer(self, line: bytes | None) -> None:
        request_id = 0
        try:
            request = parse_request(line)
            request_id = request.id
            handler = self._handlers.get(request.op)
            if handler is None:
                raise MalformedRequest(f"unknown operation {request.op[:80]!r}", request_id)
            done = handler(request)
        except MalformedRequest as error:
            self._error(error.request_id, WorkerFailure(INFRASTRUCTURE, str(error)))
        except WorkerFailure as failure:
            self._error(request_id, failure)
        except MemoryError:
            self._error(request_id, WorkerFailure(INFRASTRUCTURE, "the worker ran out of memory itself"))
        else:
            self._controller.send(request_id, "done", **done)

    def _error(self, request_id: int, failure: WorkerFailure) -> None:
        fields = {"class": failure.failure_class, "message": failure.message, "detail": failure.detail}
        self._controller.send(request_id, "error", program=failure.program, **fields)

    def _hello(self, request: Request) -> dict[str, Any]:
        # A child that loads nothing shows what the sandbox really gives on this machine.
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            limits = Limits(memory_bytes=None, time_s=10.0, threads=1)
            probe = Program("probe", self._server, limits, nothing, self._controller.reading)
        finally:
            os.close(nothing)
        with contextlib.closing(probe):
            return {
                "protocol": PROTOCOL_VERSION,
                **self._server.versions,
                "cpu_count": os.cpu_count(),
                "pid": os.getpid(),
                "sandbox": probe.sandbox,
            }

    def _load(self, request: Request) -> dict[str, Any]:
        name = request.text("program")
        limits = _limits(request.part("limits"))
        with contextlib.ExitStack() as stack:
            artefact_fd = self._opened(request.fields.get("artefact"), stack)
            place = self._place(request, stack)
            self._forget(name)
            if len(self._programs) >= _MAX_PROGRAMS:
                raise WorkerFailure(INFRASTRUCTURE, f"{_MAX_PROGRAMS} programs are loaded; unload one first")
            program = Program(name, self._server, limits, artefact_fd, self._controller.reading, place)
        self._programs[name] = program
        program.request(Kind.LOAD, limits.time_s)
        return {"pid": program.pid, "rss_bytes": memory_reading(program.pid, "VmRSS")}

    def _opened(self, blob: object, stack: contextlib.ExitStack) -> int:
        fd = self._blobs.open(blob)
        stack.callback(os.close, fd)
        # The child reads by descriptor, as another user where it can be one.
        with contextlib.suppress(OSError):
            os.fchmod(fd, 0o444)
        return fd

    def _place(self, request: Request, stack: contextlib.ExitStack) -> Place:
        """Where the request wants the program to run: on the CPU if it does not say."""
        if "device" not in request.fields:
            return ON_CPU
        part = request.part("device")
        kind = part.text("kind")
        if kind not in KINDS:
            raise MalformedRequest(f"{part.op}: kind is one of {', '.join(KINDS)}", request.id)
        device = ExecutionDevice(kind, part.whole("index", 0, _MAX_DEVICES))
        if kind != "opencl":
            return Place(device)
        library_fd = self._opened(part.fields.get("library"), stack)
        try:
            return Place(device, library_fd, self._kernel_caches.of(request.text("artefact")))
        except OSError as error:
            raise WorkerFailure(INFRASTRUCTURE, f"no folder for compiled kernels: {error}") from error

    def _verify(self, request: Request) -> dict[str, Any]:
        program = self._program(request.text("program"))
        part = request.part("tolerance")
        return verify(
            program,
            self._blobs.arrays(request.fields.get("inputs"), "in"),
            self._blobs.arrays(request.fields.get("expected"), "out"),
            Tolerance(rtol=part.number("rtol"), atol=part.number("atol")),
            request.number("time_s"),
            fresh=request.fields.get("fresh") is not False,
        )

    def _prepare_timing(self, request: Request) -> dict[str, Any]:
        program = self._program(request.text("program"))
        self._rotations.pop(program.name, None)
        if "expected" not in request.fields:
            inputs = self._blobs.arrays(request.fields.get("inputs"), "in")
            program.upload("timing", inputs, _MEMORY_LIMIT_S)
            return {}
        rotation = self._rotation(request)
        rotation.prepare(program, _MEMORY_LIMIT_S)
        self._rotations[program.name] = rotation
        return {}

    def _rotation(self, request: Request) -> Rotation:
        """The rotation of a request; the last one where the inputs are the same: other programs share it."""
        inputs, expected = request.texts("inputs"), request.texts("expected")
        if len(inputs) != len(expected):
            raise MalformedRequest(f"{request.op}: inputs and expected are lists of one length", request.id)
        part = request.part("tolerance")
        key = (*inputs, *expected, part.number("rtol"), part.number("atol"))
        if self._last_rotation is not None and self._last_rotation.key == key:
            return self._last_rotation
        self._last_rotation = None
        pairs = zip(inputs, expected, strict=True)
        timed = [
            TimedInput(self._blobs.arrays(one, "in"), self._blobs.arrays(other, "out"))
            for one, other in pairs
        ]
        tolerance = Tolerance(rtol=part.number("rtol"), atol=part.number("atol"))
        self._last_rotation = Rotation(key, timed, tolerance)
        return self._last_rotation

    def _pair(self, request: Request) -> dict[str, Any]:
        a, b = self._program(request.text("a")), self._program(request.text("b"))
        plan = Plan(
            pairs=request.whole("pairs", 1, 1_000_000),
            calls_per_block=request.whole("calls_per_block", 1),
            warm_calls=request.whole("warm_calls", 0),
            first=request.whole("first", 0, 1),
            time_s=request.number("time_s"),
        )

        def progress(pairs: int) -> None:
            self._controller.send(request.id, "progress", done=pairs, total=plan.pairs)

        # Both sides alike, or neither: what is done between blocks must not differ.
        rotation = self._rotations.get(a.name)
        if rotation is not self._rotations.get(b.name):
            raise WorkerFailure(INFRASTRUCTURE, f"{a.name} and {b.name} are not timed on the same inputs")
        a_series, b_series = time_pairs(a, b, plan, progress, rotation)
        parent_s = [list(pair) for pair in zip(a_series.parent_s, b_series.parent_s, strict=True)]
        unseen_s = [list(pair) for pair in zip(a_series.unseen_s, b_series.unseen_s, strict=True)]
        return {
            "a_s": a_series.latencies_s,
            "b_s": b_series.latencies_s,
            "parent_s": parent_s,
            "unseen_s": unseen_s,
        }

    def _block(self, request: Request) -> dict[str, Any]:
        calls, warm = request.whole("calls_per_block", 1), request.whole("warm_calls", 0)
        plan = Plan(pairs=1, calls_per_block=calls, warm_calls=warm, first=0, time_s=request.number("time_s"))
        timed = time_block(self._program(request.text("program")), plan)
        return {"latency_s": timed.latencies_s[0], "parent_s": timed.parent_s[0]}

    def _memory(self, request: Request) -> dict[str, Any]:
        program = self._program(request.text("program"))
        used = program.request(Kind.MEMORY, _MEMORY_LIMIT_S).body.get("device_bytes")
        return {
            "device_bytes": used if type(used) is int and used >= 0 else None,
            "peak_rss_bytes": memory_reading(program.pid, "VmHWM"),
            "baseline_rss_bytes": program.baseline_rss_bytes,
        }

    def _measure_kernels(self, request: Request) -> dict[str, Any]:
        def progress(done: int, total: int) -> None:
            self._controller.send(request.id, "progress", done=done, total=total)

        limits = _limits(request)
        return measure_kernels(request, limits, self._server, self._blobs, self._controller.reading, progress)

    def _unload(self, request: Request) -> dict[str, Any]:
        name = request.text("program")
        program = self._program(name)
        program.finish(_UNLOAD_LIMIT_S)
        done = {"clean": program.clean, "exit": program.exit, "stderr_tail": program.stderr_tail()}
        self._forget(name)
        return done

    def _shutdown(self, request: Request) -> dict[str, Any]:
        self._ending = True
        return {}

    def _program(self, name: str) -> Program:
        program = self._programs.get(name)
        if program is None:
            raise WorkerFailure(INFRASTRUCTURE, f"no program named {name!r} is loaded", program=name)
        return program

    def _forget(self, name: str) -> None:
        self._rotations.pop(name, None)
        if program := self._programs.pop(name, None):
            program.close()


def _paths(request: Request) -> list[str]:
    paths = request.fields.get("nodes", [])
    if (
        not isinstance(paths, list)
        or len(paths) > _MAX_NODES
        or not all(isinstance(path, str) and path.startswith("/") for path in paths)
    ):
        raise MalformedRequest(
            f"{request.op}: nodes is a list of at most {_MAX_NODES} absolute paths", request.id
        )
    return paths


def _limits(part: Request) -> Limits:
    cpus = part.fields.get("cpus")
    if cpus is not None and not (
        isinstance(cpus, list) and cpus and all(type(cpu) is int and 0 <= cpu < _MAX_CPUS for cpu in cpus)
    ):
        raise MalformedRequest(f"{part.op}: cpus is a list of core numbers", part.id)
    return Limits(
        memory_bytes=part.whole("memory_bytes", 1),
        time_s=part.number("time_s"),
        threads=part.whole("threads", 1, _MAX_CPUS),
        cpus=cpus,
    )
