"""What happens once to a simulated board: asked for by an empty file of its tree, done before its next command."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

Event = Literal["reboot", "lock_lost", "wrong_mode_locked", "maxn_unlocked"]
"""`reboot`: another boot id, clocks as at boot, every link and process gone. `lock_lost`: governors and limits
fall back (nvpmodel.service ran again). `wrong_mode_locked`: somebody locked a Jetson's clocks in its 15 W mode.
`maxn_unlocked`: a Jetson is in MAXN, but its clocks are free."""

EVENTS: tuple[Event, ...] = get_args(Event)
FOLDER = "etc/edgelab/events"


def trigger(tree: Path, event: Event) -> None:
    """Let `event` happen to the board in `tree` before its next command, and within a second while it is served."""
    (tree / FOLDER).mkdir(parents=True, exist_ok=True)
    (tree / FOLDER / event).touch()


def take(tree: Path) -> tuple[Event, ...]:
    """Return the events that were asked for since the last time, and take their files away."""
    taken: list[Event] = []
    for event in EVENTS:
        try:
            (tree / FOLDER / event).unlink()
        except FileNotFoundError:
            continue
        taken.append(event)
    return tuple(taken)
