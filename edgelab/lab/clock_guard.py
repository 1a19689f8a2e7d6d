"""Tells from looks at an idle board whether its clocks are locked, and when a lock was lost."""

from __future__ import annotations

from collections.abc import Callable

from edgelab.drivers.device_state import DeviceState
from edgelab.lab.board import CLOCK_CHECKS, Board
from edgelab.lab.board_view import LockState


class ClockGuard:
    """Judges looks at one board. `invalidate` marks measurements since a time and returns how many."""

    def __init__(self, board: Board, invalidate: Callable[[float], int]) -> None:
        self._board = board
        self._invalidate = invalidate
        self._last_good_s: float | None = None

    def judge(self, state: DeviceState) -> tuple[LockState, int | None]:
        """Return the state of the lock, and how many measurements became invalid when it was lost just now.

        `lost` is a board that EdgeLab locked (what it had is still stored on it) and that is otherwise now.
        """
        found = self._found(state)
        if found == "locked":
            self._last_good_s = state.read_s
        if found != "lost" or self._last_good_s is None:
            return found, None
        since_s, self._last_good_s = self._last_good_s, None
        return found, self._invalidate(since_s)

    def _found(self, state: DeviceState) -> LockState:
        if not self._board.profile.clocks.lock:
            return "unknown"
        checks = [check for check in self._board.report(state).checks if check.name in CLOCK_CHECKS]
        if any(check.ok is False for check in checks):
            return "unlocked" if state.saved is None else "lost"
        return "locked" if any(check.ok for check in checks) else "unknown"
