"""What a simulated board remembers between two commands."""

from __future__ import annotations

from pathlib import Path

import msgspec

from edgelab.drivers.simulated.node_file import put

STATE = "etc/edgelab/state.json"


class ClockHistory(msgspec.Struct, frozen=True):
    """What trans_stat tells of a clock: its present step, milliseconds at each, changes from each to each."""

    step: int
    time_ms: tuple[float, ...]
    changes: tuple[int, ...]


class BoardState(msgspec.Struct, frozen=True, kw_only=True):
    """One board since it booted. Times are seconds since the epoch of this machine.

    `version` is that of its model; `throttles` are events by counter, `heat_c` degrees above rest; `drift_ns`
    is the fault switching whose drift has happened already.
    """

    profile: str
    version: str
    boot_s: float
    boot_id: str
    settled_s: float
    throttles: dict[str, float] = {}
    heat_c: float = 0.0
    busy_ticks: float = 1000.0
    all_ticks: float = 100_000.0
    drift_ns: int = 0
    history: dict[str, ClockHistory] = {}


def load(tree: Path) -> BoardState:
    """Return what the board in `tree` remembers. Raises OSError, `msgspec.DecodeError`."""
    return msgspec.json.decode((tree / STATE).read_bytes(), type=BoardState)


def save(tree: Path, state: BoardState) -> None:
    """Keep what the board remembers."""
    put(tree, STATE, msgspec.json.encode(state).decode())
