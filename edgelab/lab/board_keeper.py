"""Keeps one device in view: holds the link, looks once a second, does what is asked, tells every change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from edgelab.drivers.board_lease import lease_command, read_lease
from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.probe import ProbeRequest
from edgelab.drivers.transport import LeaseHeld, LinkFailure
from edgelab.errors import EdgeLabError
from edgelab.lab.board import Board, described
from edgelab.lab.board_view import BoardView, LockState
from edgelab.lab.clock_guard import ClockGuard
from edgelab.lab.monitor_messages import Ask

POLL_S = 1.0
_HELD_POLL_S = 5.0
_LOOK_LIMIT_S = 5.0
_FIRST_BACK_OFF_S = 0.5
_LONGEST_BACK_OFF_S = 10.0
_OPERATORS = frozenset({"unknown_host_key", "changed_host_key", "login"})
"""Problems of a link that only the operator can mend: trying again would change nothing."""


class OpenBoard(Protocol):
    """Opens a device; the password and the trust in a new key are what the operator has given so far."""

    def __call__(self, *, password: str | None, trust_new_key: bool) -> AbstractAsyncContextManager[Board]:
        """Connect. Raises `LinkFailure`."""
        ...


class BoardKeeper:
    """One device of the monitor. `publish` gets each new view; `invalidate` marks measurements since a time.

    `password` is sudo's, where it is known before the operator gives one.
    """

    def __init__(
        self,
        device: str,
        open_board: OpenBoard,
        publish: Callable[[BoardView], None],
        invalidate: Callable[[str, float], int],
        password: str | None = None,
    ) -> None:
        self._open = open_board
        self._publish = publish
        self._invalidate = invalidate
        self._asked: asyncio.Queue[Ask] = asyncio.Queue()
        self._password = password
        self._trust_new_key = False
        self._guard: ClockGuard | None = None
        self.paused = False
        self.view = BoardView(device=device)

    def ask(self, request: Ask) -> None:
        """Queue what the operator asked for."""
        self._asked.put_nowait(request)

    async def run(self) -> None:
        """Keep the device in view until cancelled."""
        back_off_s = _FIRST_BACK_OFF_S
        while True:
            self._tell(link="connecting")
            try:
                async with self._open(password=self._password, trust_new_key=self._trust_new_key) as board:
                    target_hz = board.profile.clocks.gpu_hz
                    self._tell(link="up", problem="", problem_kind="", advice="", gpu_target_hz=target_hz)
                    back_off_s = _FIRST_BACK_OFF_S
                    await self._serve(board)
            except LinkFailure as failure:
                link = "failed" if failure.problem in _OPERATORS else "lost"
                self._tell(
                    link=link,
                    problem=failure.message,
                    problem_kind=failure.problem,
                    advice=failure.advice,
                    activity="",
                )
            except EdgeLabError as error:
                link = "failed"
                self._tell(
                    link=link, problem=error.message, problem_kind="", advice=error.advice, activity=""
                )
            else:
                continue
            await self._wait_to_reconnect(back_off_s, by_itself=link == "lost")
            back_off_s = min(2 * back_off_s, _LONGEST_BACK_OFF_S)

    async def _wait_to_reconnect(self, back_off_s: float, *, by_itself: bool) -> None:
        """Wait for the back-off, or until the operator asks for anything, which cannot be done without a link.

        A link that only the operator can mend is waited for until then.
        """
        request = await self._next(back_off_s if by_itself else None)
        if request is None:
            return
        self._remember(request)
        if request.action in ("check", "lock", "restore"):
            # It is done once there is a link; until then it is no reason to connect any faster.
            self._asked.put_nowait(request)
            await asyncio.sleep(back_off_s)

    def _remember(self, request: Ask) -> None:
        if request.action == "password":
            self._password = request.secret or None
        elif request.action == "trust_key":
            self._trust_new_key = True

    async def _serve(self, board: Board) -> None:
        """Look and do until the link fails (`LinkFailure`) or a new one is wanted."""
        poll_s = 0.0
        while True:
            request = await self._next(poll_s)
            if request is None:
                if not self.paused:
                    await self._look(board)
            elif request.action in ("check", "lock", "restore"):
                await self._do(board, request.action)
            else:
                self._remember(request)
                return
            poll_s = POLL_S if self.view.polled else _HELD_POLL_S

    async def _next(self, limit_s: float | None) -> Ask | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                return await self._asked.get()
        return None

    async def _look(self, board: Board) -> None:
        try:
            async with asyncio.timeout(_LOOK_LIMIT_S):
                if not self.view.polled and not await self._is_free(board):
                    return
                state = await board.look()
        except TimeoutError as error:
            message = f"{self.view.device} did not answer within {_LOOK_LIMIT_S:g} s."
            raise LinkFailure("lost", message, advice="EdgeLab tries again by itself.") from error
        self._tell(state=state, polled=state.lease is None, lock_state=self._lock_state(board, state))

    async def _is_free(self, board: Board) -> bool:
        """Ask for the lease alone: whoever holds the device is not to be disturbed."""
        command = lease_command(board.profile.lease)
        reply = await board.transport.probe(ProbeRequest(commands=(command,)))
        _, holder = read_lease(reply.outputs.get(command.name))
        if self.view.state is not None and holder is not None:
            self._tell(state=msgspec.structs.replace(self.view.state, lease=holder))
        return holder is None

    def _lock_state(self, board: Board, state: DeviceState) -> LockState:
        if self._guard is None:
            device = self.view.device
            self._guard = ClockGuard(board, lambda since_s: self._invalidate(device, since_s))
        found, invalidated = self._guard.judge(state)
        if invalidated is not None:
            self._step(f"lock lost; measurements marked invalid: {invalidated}")
        return found

    async def _do(self, board: Board, action: str) -> None:
        self._tell(activity=action, steps=())
        try:
            if action == "check":
                report, state = await board.check()
                self._tell(check=report, state=state or self.view.state)
            else:
                async with board.lease(action):
                    await self._change(board, action)
        except LeaseHeld as held:
            self._step(f"{self.view.device} is held by {described(held.holder)}")
        except LinkFailure:
            raise
        except EdgeLabError as error:
            self._step(str(error))
        finally:
            self._tell(activity="")
        await self._look(board)

    async def _change(self, board: Board, action: str) -> None:
        if action == "lock":
            self._tell(lock=await board.lock(self._step))
        else:
            self._tell(restore=await board.restore(self._step))

    def _step(self, said: str) -> None:
        self._tell(steps=(*self.view.steps, said))

    def _tell(self, **changes: object) -> None:
        self.view = msgspec.structs.replace(self.view, **changes)
        self._publish(self.view)
