"""Async client of the build server: typed requests, time limits, cancellation, restart after a death."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import msgspec

from edgelab.child_group import end_group, keep_tail
from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError
from edgelab.kernel.build_protocol import (
    BuildReply,
    BuildRequest,
    HostTarget,
    ServerEvent,
    ServerRequest,
    workspace_prefix,
)
from edgelab.kernel.server_process import start_server

_START_TIME_LIMIT_S = 60.0
_STOP_TIME_LIMIT_S = 3.0
_CANCEL_TIME_LIMIT_S = 5.0
_SERVER_GRACE_S = 15.0
"""How long after a build's own time limit a silent server counts as stuck."""
_LINE_LIMIT_BYTES = 32 * 2**20
_PARALLEL_BUILDS = 2

PhaseCallback = Callable[[str], None]


class BuildService:
    """Compiles programs in children of one warm server. Two run at once; further ones wait their turn.

    Use as `async with BuildService.start() as service`. A server that died is started again by the next
    call; the builds it was working on fail with the class `infrastructure`, so that a run repeats them.
    """

    def __init__(self, *, parallel_builds: int, start_time_limit_s: float) -> None:
        self._start_time_limit_s = start_time_limit_s
        self._slots = asyncio.Semaphore(parallel_builds)
        self._starting = asyncio.Lock()
        self._server: _Server | None = None

    @classmethod
    def start(
        cls, *, parallel_builds: int = _PARALLEL_BUILDS, start_time_limit_s: float = _START_TIME_LIMIT_S
    ) -> BuildService:
        """A service whose server starts when the `async with` block is entered."""
        return cls(parallel_builds=parallel_builds, start_time_limit_s=start_time_limit_s)

    async def __aenter__(self) -> BuildService:
        await self._ready_server()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def host(self) -> HostTarget:
        """This machine's CPU as a target."""
        return (await self._ready_server()).host

    @property
    def server_pid(self) -> int | None:
        """Process id of the running server; None while there is none."""
        return self._server.process.pid if self._server is not None and self._server.alive else None

    async def build(self, request: BuildRequest, *, on_phase: PhaseCallback | None = None) -> BuildReply:
        """Compile one program.

        Raises EvaluationFailure with the class of what went wrong: `syntax_api`, `parallel`, `memory`
        or `hack` for the program, `timeout` past its time limit, `crash` if it took the compiler down,
        `infrastructure` if the server died or the machine lacks something. Cancelling the call kills the
        build's processes before it returns. Time spent waiting for a slot does not count.
        """
        async with self._slots:
            server = await self._ready_server()
            return await server.build(request, on_phase)

    async def close(self) -> None:
        """End the server and all builds."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop()

    async def _ready_server(self) -> _Server:
        async with self._starting:
            if self._server is None or not self._server.alive:
                if self._server is not None:
                    await self._server.stop()
                self._server = await _Server.spawn(self._start_time_limit_s)
            return self._server


class _Pending:
    """A build under way."""

    def __init__(self, folder: Path, on_phase: PhaseCallback | None) -> None:
        self.folder = folder
        self.on_phase = on_phase
        self.done: asyncio.Future[ServerEvent] = asyncio.get_running_loop().create_future()


class _Server:
    """One server process, from its `ready` event to its end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.alive = True
        self._pending: dict[int, _Pending] = {}
        self._next_id = 1
        self._stderr = bytearray()
        self._host: asyncio.Future[HostTarget] = asyncio.get_running_loop().create_future()
        self._tasks = [
            asyncio.create_task(self._read_events()),
            asyncio.create_task(keep_tail(process.stderr, self._stderr)),
        ]

    @property
    def host(self) -> HostTarget:
        return self._host.result()

    @classmethod
    async def spawn(cls, time_limit_s: float) -> _Server:
        process = await start_server("edgelab.kernel.build_server", _LINE_LIMIT_BYTES)
        server = cls(process)
        try:
            async with asyncio.timeout(time_limit_s):
                await asyncio.shield(server._host)
        except TimeoutError:
            await server.stop()
            raise NotReadyError(
                f"The build server did not start within {time_limit_s:g} s.", advice=server._advice()
            ) from None
        except BaseException:
            await server.stop()
            raise
        return server

    async def build(self, request: BuildRequest, on_phase: PhaseCallback | None) -> BuildReply:
        identifier = self._next_id
        self._next_id += 1
        pending = self._pending[identifier] = _Pending(Path(request.out_folder), on_phase)
        try:
            await self._send(ServerRequest(id=identifier, op="build", build=request))
            async with asyncio.timeout(request.time_limit_s + _SERVER_GRACE_S):
                event = await asyncio.shield(pending.done)
        except asyncio.CancelledError:
            await self._cancel(identifier, pending)
            raise
        except TimeoutError:
            await self.stop()
            raise self._lost("does not answer") from None
        finally:
            self._pending.pop(identifier, None)
        if event.event == "done" and event.reply is not None:
            return event.reply
        raise EvaluationFailure(FailureClass(event.failure_class), event.message, detail=event.detail)

    async def _cancel(self, identifier: int, pending: _Pending) -> None:
        """Have the child killed. When this returns it is gone, or the whole server is."""
        if pending.done.done():
            # Read the outcome, so that a failure nobody waits for is not reported as never retrieved.
            pending.done.exception()
            return
        try:
            async with asyncio.timeout(_CANCEL_TIME_LIMIT_S):
                await self._send(ServerRequest(id=0, op="cancel", cancels=identifier))
                await asyncio.shield(pending.done)
        except (TimeoutError, EvaluationFailure):
            await self.stop()

    async def _send(self, request: ServerRequest) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(msgspec.json.encode(request) + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            # The reader sees the same death and fails every pending build with its reason.
            return

    async def _read_events(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        try:
            while line := await stdout.readline():
                self._handle(msgspec.json.decode(line, type=ServerEvent))
        finally:
            self.alive = False
            await self._fail_pending()

    def _handle(self, event: ServerEvent) -> None:
        if event.event == "ready" and event.host is not None and not self._host.done():
            self._host.set_result(event.host)
            return
        pending = self._pending.get(event.id)
        if pending is None:
            return
        if event.event == "phase":
            if pending.on_phase is not None:
                pending.on_phase(event.phase)
        elif not pending.done.done():
            pending.done.set_result(event)

    async def _fail_pending(self) -> None:
        code = await self._wait_for_exit(_STOP_TIME_LIMIT_S)
        await asyncio.to_thread(
            _sweep, {pending.folder for pending in self._pending.values()}, self.process.pid
        )
        how = f"ended with {_exit_name(code)}" if code is not None else "closed its output"
        for pending in self._pending.values():
            if not pending.done.done():
                pending.done.set_exception(self._lost(how))
        if not self._host.done():
            self._host.set_exception(
                NotReadyError(f"The build server {how} before it was ready.", advice=self._advice())
            )

    def _lost(self, how: str) -> EvaluationFailure:
        return EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"the build server {how} while it was building",
            detail=self._stderr.decode(errors="replace"),
            advice="It is started again by the next build.",
        )

    def _advice(self) -> str:
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        return f"It said: {lines[-1]}" if lines else "Check that apache-tvm is installed."

    async def _wait_for_exit(self, time_limit_s: float) -> int | None:
        try:
            async with asyncio.timeout(time_limit_s):
                return await self.process.wait()
        except TimeoutError:
            return None

    async def stop(self) -> None:
        """Ask the server to end its builds and itself; kill its group if it does not."""
        self.alive = False
        if self.process.returncode is None:
            await self._send(ServerRequest(id=0, op="shutdown"))
            if await self._wait_for_exit(_STOP_TIME_LIMIT_S) is None:
                await end_group(self.process)
        for task in self._tasks:
            if task is not asyncio.current_task():
                await asyncio.wait([task], timeout=_STOP_TIME_LIMIT_S)
                task.cancel()
        if self._host.done() and not self._host.cancelled():
            self._host.exception()


def _exit_name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _sweep(folders: set[Path], server_pid: int) -> None:
    """Remove what a server that was killed could not clean up."""
    for folder in folders:
        for left in folder.glob(workspace_prefix(server_pid) + "*"):
            shutil.rmtree(left, ignore_errors=True)
