"""Two minutes of clocks and temperature of each board, gathered from the views as they come."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from edgelab.screens.board_words import STALE_S, clock_hz

if TYPE_CHECKING:
    from edgelab.drivers.device_state import ClockDomain
    from edgelab.lab.board_view import BoardView

LENGTH = 120
"""Values kept: two minutes of one look a second."""


class BoardHistory(msgspec.Struct, frozen=True):
    """Values in the order they were read, one a second; None where one was not known or nobody looked.

    `memory` is the newest memory clock that was read, with its time: on some boards only a full check reads it.
    """

    gpu_hz: tuple[float | None, ...] = ()
    cpu_hz: tuple[float | None, ...] = ()
    celsius: tuple[float | None, ...] = ()
    memory: ClockDomain | None = None
    memory_read_s: float = 0.0


class _Kept:
    def __init__(self) -> None:
        self.read_s = 0.0
        self.gpu_hz: deque[float | None] = deque(maxlen=LENGTH)
        self.cpu_hz: deque[float | None] = deque(maxlen=LENGTH)
        self.celsius: deque[float | None] = deque(maxlen=LENGTH)
        self.memory: ClockDomain | None = None
        self.memory_read_s = 0.0

    def leave_gap(self, read_s: float) -> None:
        """Keep the time that nobody looked visible as such."""
        missed_s = read_s - self.read_s
        if self.read_s and missed_s > STALE_S:
            for series in (self.gpu_hz, self.cpu_hz, self.celsius):
                series.extend([None] * min(int(missed_s), LENGTH))


class Histories:
    """The histories of all boards. A view that brings no new look adds nothing."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def take(self, view: BoardView) -> None:
        """Add what a view shows."""
        state = view.state
        kept = self._kept.get(view.device)
        if state is None or (kept is not None and kept.read_s == state.read_s):
            return
        if kept is None:
            kept = self._kept[view.device] = _Kept()
        kept.leave_gap(state.read_s)
        kept.read_s = state.read_s
        hottest = state.hottest()
        kept.gpu_hz.append(clock_hz(view, "gpu"))
        kept.cpu_hz.append(clock_hz(view, "cpu"))
        kept.celsius.append(hottest.celsius if hottest else None)
        memory = state.clock("memory")
        if memory is not None and memory.current_hz is not None:
            kept.memory, kept.memory_read_s = memory, state.read_s

    def of(self, device: str) -> BoardHistory:
        """Return the history of one board."""
        kept = self._kept.get(device)
        if kept is None:
            return BoardHistory()
        return BoardHistory(
            tuple(kept.gpu_hz), tuple(kept.cpu_hz), tuple(kept.celsius), kept.memory, kept.memory_read_s
        )
