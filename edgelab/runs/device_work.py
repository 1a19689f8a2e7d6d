"""Work on a device that survives what devices do: other holders, lost clocks, broken links, dead workers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from edgelab.bench.device_watch import UNWATCHED, DeviceWatch
from edgelab.bench.phases import Emit
from edgelab.bench.services import Services
from edgelab.drivers.transport import LinkFailure
from edgelab.errors import ClocksLost, EdgeLabError, EvaluationFailure, FailureClass
from edgelab.events import LinkBack, LinkLost, LogLine
from edgelab.home import Home
from edgelab.lab.board import Board
from edgelab.lab.connection import is_this_machine, open_board
from edgelab.lab.device import Device
from edgelab.lab.secrets import sudo_password
from edgelab.lab.session import Invalidate, Session

LINK_WAIT_S = 600.0
"""How long a run waits for a link that broke before it gives up."""

_ATTEMPTS = 2
_LOCK_ATTEMPTS = 3
_FIRST_BACK_OFF_S = 0.5
_LONGEST_BACK_OFF_S = 10.0
_LOOK_LIMIT_S = 10.0

Found = TypeVar("Found")
"""What an attempt finds: an evaluated candidate, a tuned task."""

Attempt = Callable[[Services, DeviceWatch], Awaitable[Found]]
"""One piece of work, over services that are up, watched by whoever judges the clocks."""


class DeviceWork:
    """Runs one candidate's evaluation on one device, as often as the device makes that necessary."""

    def __init__(
        self,
        device: Device,
        home: Home,
        run_id: str,
        emit: Emit,
        invalidate: Invalidate,
        *,
        link_wait_s: float = LINK_WAIT_S,
    ) -> None:
        self._device = device
        self._home = home
        self._purpose = f"run {run_id}"
        self._emit = emit
        self._invalidate = invalidate
        self._link_wait_s = link_wait_s
        self._down_since_s: float | None = None
        self._session: Session | None = None

    async def run(self, attempt: Attempt[Found]) -> Found:
        """Return what an attempt found whose conditions held from its beginning to its end.

        Raises what the last attempt raised: failures of the candidate at once, those of the infrastructure
        when repeating did not help.
        """
        password = sudo_password(self._device)
        back_off_s = _FIRST_BACK_OFF_S
        while True:
            try:
                async with open_board(self._device, self._home, password=password) as board:
                    self._link_is_up()
                    back_off_s = _FIRST_BACK_OFF_S
                    return await self._in_session(board, attempt)
            except LinkFailure as failure:
                if not self._may_wait(failure):
                    raise
            await asyncio.sleep(back_off_s)
            back_off_s = min(2 * back_off_s, _LONGEST_BACK_OFF_S)

    def _link_is_up(self) -> None:
        if self._down_since_s is not None:
            after_s = time.monotonic() - self._down_since_s
            self._emit(LinkBack(device=self._device.name, after_s=after_s))
        self._down_since_s = None

    def _may_wait(self, failure: LinkFailure) -> bool:
        """Whether a broken link is worth waiting for: it was up once, and has not been down for too long."""
        if self._session is None:
            return False
        now_s = time.monotonic()
        if self._down_since_s is None:
            self._down_since_s = now_s
            self._emit(LinkLost(device=self._device.name, reason=failure.message))
        return now_s - self._down_since_s < self._link_wait_s

    async def _in_session(self, board: Board, attempt: Attempt[Found]) -> Found:
        self._session = session = self._session or Session(
            self._purpose, self._emit, self._invalidate, checked=not is_this_machine(self._device)
        )
        async with session.on(board), Services(board.transport, self._home.cache, self._emit) as services:
            return await self._attempts(board, session, services, attempt)

    async def _attempts(
        self, board: Board, session: Session, services: Services, attempt: Attempt[Found]
    ) -> Found:
        left, locks_left = _ATTEMPTS, _LOCK_ATTEMPTS
        while True:
            try:
                found = await attempt(services, session.watch or UNWATCHED)
                # What was timed before the clocks were lost unnoticed does not count either.
                await session.verify()
                return found
            except ClocksLost as lost:
                locks_left -= 1
                if not locks_left:
                    raise
                await session.recover(lost)
            except EdgeLabError as error:
                if not _is_infrastructure(error):
                    raise
                await self._find_broken_link(board)
                left -= 1
                if not left:
                    raise
                self._emit(LogLine(level="warning", text=f"{error.message} Trying once more."))

    async def _find_broken_link(self, board: Board) -> None:
        """Raise `LinkFailure` when the device cannot be reached; then that was what failed."""
        if is_this_machine(self._device):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_LIMIT_S):
                await board.look()
                return
        message = f"{self._device.name} did not answer within {_LOOK_LIMIT_S:g} s."
        raise LinkFailure("lost", message)


def _is_infrastructure(error: EdgeLabError) -> bool:
    return isinstance(error, EvaluationFailure) and error.failure_class is FailureClass.INFRASTRUCTURE
