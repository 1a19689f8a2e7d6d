"""The app's end of the monitor process: the newest view of each device, and requests to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from edgelab.home import Home
from edgelab.lab.board_view import BoardView
from edgelab.lab.monitor_messages import Ask, MonitorAction, Pause, Reply, Request, Seen

log = logging.getLogger("edgelab.app")

_LINE_LIMIT_BYTES = 4 << 20
_END_LIMIT_S = 3.0
_RESTART_S = 2.0


class MonitorClient:
    """Starts the monitor, keeps what it said last, and starts it anew when it dies.

    Everything but `start` and `close` returns at once and is called on the event loop of `start`.
    """

    def __init__(self, home: Home, lab_file: Path | None = None) -> None:
        self._argv = [sys.executable, "-m", "edgelab.lab.monitor", str(home.root), str(lab_file or "")]
        self._log_path = home.logs / "monitor.log"
        self._views: dict[str, BoardView] = {}
        self._listeners: list[Callable[[], None]] = []
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._encoder = msgspec.json.Encoder()
        self._paused = False
        self.trouble = ""
        """Why there are no views, in words; empty while all is well."""

    def views(self) -> Mapping[str, BoardView]:
        """Return the newest view of each device that was seen."""
        return self._views

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every new view."""
        self._listeners.append(listener)

    def request(self, device: str, action: MonitorAction) -> None:
        """Ask for something to be done with a device; the views tell how it goes."""
        self._send(Ask(device=device, action=action))

    def password(self, device: str, secret: str) -> None:
        """Give the sudo password of a device; it goes through the pipe alone."""
        self._send(Ask(device=device, action="password", secret=secret))

    def pause(self, paused: bool) -> None:
        """Stop or go on polling."""
        self._paused = paused
        self._send(Pause(paused=paused))

    async def start(self) -> None:
        """Start the monitor. It is started anew after it died, until `close`."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep_alive())

    async def close(self) -> None:
        """End the monitor; harmless when repeated."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _send(self, request: Request) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        process.stdin.write(self._encoder.encode(request) + b"\n")

    async def _keep_alive(self) -> None:
        while True:
            try:
                await self._run_once()
            except OSError as error:
                self._say(f"The device monitor cannot be started: {error}.")
            await asyncio.sleep(_RESTART_S)

    async def _run_once(self) -> None:
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        with self._log_path.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=_LINE_LIMIT_BYTES,
                start_new_session=True,
            )
        self._process = process
        try:
            if self._paused:
                self._send(Pause(paused=True))
            await self._read(process)
        finally:
            self._process = None
            await _end(process)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        decoder = msgspec.json.Decoder(Reply)
        while line := await process.stdout.readline():
            reply = decoder.decode(line)
            if isinstance(reply, Seen):
                self.trouble = ""
                self._views = {**self._views, reply.view.device: reply.view}
                self._tell()
            else:
                self._say(f"{reply.message} {reply.advice}".strip())
        if not self.trouble:
            self._say(f"The device monitor ended; it is started again. Its log: {self._log_path}")

    def _say(self, trouble: str) -> None:
        log.warning("%s", trouble)
        self.trouble = trouble
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its stdin, which ends it in good order, and kill its group when it does not end."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_END_LIMIT_S):
            await process.wait()
    except TimeoutError:
        log.warning("the device monitor did not end by itself")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
