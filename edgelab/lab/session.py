"""A working session on a board: lease -> check -> lock -> verify -> work -> restore."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from edgelab.drivers.check import CheckReport
from edgelab.drivers.device_state import DeviceState
from edgelab.drivers.transport import LeaseHeld
from edgelab.errors import ClocksLost, EdgeLabError, NotReadyError
from edgelab.events import (
    ClocksLocked,
    ClocksRestored,
    DeviceAwaited,
    DeviceChecked,
    EventBody,
    LockLost,
    LogLine,
)
from edgelab.lab.board import CLOCK_CHECKS, Board, described
from edgelab.lab.clock_watch import ClockWatch

Emit = Callable[[EventBody], None]
Invalidate = Callable[[float], int]
"""Marks the device's measurements since a time (epoch seconds) invalid; returns how many there were."""

_LEASE_POLL_S = 1.0
_RESTORE_LIMIT_S = 60.0
_WORK_CHECKS = CLOCK_CHECKS | {"throttling"}


class Session:
    """Holds boards for `purpose`; `on` opens it, again after a link was lost.

    `checked` False only takes the lease: this machine's own CPU has no clocks to lock.
    """

    def __init__(self, purpose: str, emit: Emit, invalidate: Invalidate, *, checked: bool = True) -> None:
        self._board: Board
        self._purpose = purpose
        self._emit = emit
        self._invalidate = invalidate
        self._checked = checked
        self._locked = False
        self._locked_here = False
        self._last_good_s = time.time()
        self._state: DeviceState | None = None

    @contextlib.asynccontextmanager
    async def on(self, board: Board) -> AsyncIterator[None]:
        """Hold `board`, checked and locked, while the block runs; what was locked here is restored after.

        Raises `NotReadyError` with every reason when the board is not fit for work, `LinkFailure`.
        """
        self._board = board
        async with contextlib.AsyncExitStack() as stack:
            await self._take_lease(stack)
            try:
                if self._checked:
                    await self._prepare()
                yield
            finally:
                if self._locked_here:
                    await self._restore()

    @property
    def watch(self) -> ClockWatch | None:
        """Whoever judges the board between the blocks of timing; None where there is nothing to watch."""
        if self._state is None:
            return None
        board = self._board
        return ClockWatch(
            board.device.name, board.family, self._state, root=board.device.root, locked=self._locked
        )

    async def verify(self) -> None:
        """Look again between candidates. Raises `ClocksLost` with what is otherwise."""
        if not self._checked:
            return
        before = self._state
        self._state = state = await self._board.look(full=True)
        wrong = _failed(self._board.report(state, before), _WORK_CHECKS)
        if wrong:
            raise ClocksLost(f"{self._board.device.name}: {' '.join(wrong)}")
        self._last_good_s = state.read_s

    async def recover(self, lost: ClocksLost) -> None:
        """Mark what was measured since the last good look invalid, and lock again.

        Raises `lost` itself when the profile does not allow to lock again, `NotReadyError` when it fails.
        """
        invalidated = self._invalidate(self._last_good_s)
        device = self._board.device.name
        self._emit(LockLost(device=device, reason=lost.message, invalidated=invalidated))
        if not (self._board.profile.clocks.lock and self._board.profile.clocks.relock):
            raise lost
        await self._lock(again=True)

    async def _take_lease(self, stack: contextlib.AsyncExitStack) -> None:
        told = False
        while True:
            try:
                await stack.enter_async_context(self._board.lease(self._purpose))
            except LeaseHeld as held:
                if not told:
                    self._emit(DeviceAwaited(device=self._board.device.name, holder=described(held.holder)))
                told = True
                await asyncio.sleep(_LEASE_POLL_S)
            else:
                return

    async def _prepare(self) -> None:
        report, state = await self._board.check()
        if state is None:
            raise NotReadyError(" ".join(report.reasons))
        name, policy = self._board.device.name, self._board.profile.clocks
        # The lease is this session's own; what is wrong with the clocks is for the lock to mend.
        ignored = {"lease", *(CLOCK_CHECKS if policy.lock else ())}
        reasons = _failed(report, frozenset(check.name for check in report.checks) - ignored)
        self._emit(DeviceChecked(device=name, ready=not reasons, reasons=reasons))
        if reasons:
            raise NotReadyError(
                f"{name} is not ready: {' '.join(reasons)}", advice=f"See: edgelab devices check {name}"
            )
        self._state, self._last_good_s = state, state.read_s
        if not policy.lock:
            return
        if state.saved is not None and not _failed(report, CLOCK_CHECKS):
            # What a dead run locked is this run's to restore; what the operator locked stays.
            self._locked_here |= state.saved.purpose != "lock"
            self._locked = True
            self._emit(ClocksLocked(device=name))
            return
        await self._lock(again=False)

    async def _lock(self, *, again: bool) -> None:
        report = await self._board.lock(self._narrate, purpose=self._purpose)
        name = self._board.device.name
        if not report.locked:
            raise NotReadyError(f"{name} could not be locked: {report.problem}", advice=report.advice)
        self._state = await self._board.look(full=True)
        self._last_good_s = self._state.read_s
        saved = self._state.saved
        self._locked = True
        self._locked_here |= saved is not None and saved.purpose != "lock"
        self._emit(ClocksLocked(device=name, steps=report.steps, again=again))

    def _narrate(self, step: str) -> None:
        self._emit(LogLine(level="debug", source="device", text=step))

    async def _restore(self) -> None:
        """Put back what this session changed; over a broken link that is left to `edgelab devices restore`."""
        name = self._board.device.name
        try:
            async with asyncio.timeout(_RESTORE_LIMIT_S):
                report = await self._board.restore(lambda step: None)
        except (EdgeLabError, TimeoutError) as error:
            said = f"{error} It can be done later: edgelab devices restore {name}"
            self._emit(ClocksRestored(device=name, problem=said))
            return
        self._locked = not report.restored
        self._locked_here = not report.restored
        self._emit(ClocksRestored(device=name, steps=report.steps, problem=report.problem))


def _failed(report: CheckReport, names: frozenset[str]) -> tuple[str, ...]:
    """Return the reasons of those checks in `names` that are not good enough."""
    return tuple(
        check.reason
        for check in report.checks
        if check.name in names and (check.ok is False or (check.ok is None and check.required))
    )
