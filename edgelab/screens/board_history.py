"""Two minutes of GPU clock and temperature of each board, gathered from the views as they come."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from edgelab.screens.board_words import clock_hz

if TYPE_CHECKING:
    from edgelab.lab.board_view import BoardView

LENGTH = 120


class BoardHistory(msgspec.Struct, frozen=True):
    """Values in the order they were read; None where one was not known."""

    clock_hz: tuple[float | None, ...] = ()
    celsius: tuple[float | None, ...] = ()


class Histories:
    """The histories of all boards. A view that brings no new look adds nothing."""

    def __init__(self) -> None:
        self._read_s: dict[str, float] = {}
        self._clocks: dict[str, deque[float | None]] = {}
        self._heat: dict[str, deque[float | None]] = {}

    def take(self, view: BoardView) -> None:
        """Add what a view shows."""
        state = view.state
        if state is None or self._read_s.get(view.device) == state.read_s:
            return
        self._read_s[view.device] = state.read_s
        hottest = state.hottest()
        clock = clock_hz(view, "gpu")
        self._kept(self._clocks, view).append(clock if clock is not None else clock_hz(view, "cpu"))
        self._kept(self._heat, view).append(hottest.celsius if hottest else None)

    @staticmethod
    def _kept(kept: dict[str, deque[float | None]], view: BoardView) -> deque[float | None]:
        return kept.setdefault(view.device, deque(maxlen=LENGTH))

    def of(self, device: str) -> BoardHistory:
        """Return the history of one board."""
        return BoardHistory(tuple(self._clocks.get(device, ())), tuple(self._heat.get(device, ())))
