"""What a view of a board means, in one glyph, one word and one colour; used by rows and details alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab.widgets.spans import Span

if TYPE_CHECKING:
    from edgelab.drivers.device_state import ClockKind
    from edgelab.lab.board_view import BoardView

STALE_S = 5.0
"""From here on a value looks old."""

_ACTIVITIES = {"check": "checking", "lock": "locking", "restore": "restoring"}
_LINKS = {"idle": ("·", "waiting", "faint"), "connecting": ("…", "connecting", "muted")}
_LINKS |= {"lost": ("✗", "link lost", "bad"), "failed": ("✗", "no link", "bad")}
_LOCKS = {
    "locked": ("●", "locked", "good"),
    "lost": ("✗", "lock lost", "bad"),
    "unlocked": ("○", "unlocked", "warn"),
    "unknown": ("●", "up", "text"),
}


def state_span(view: BoardView | None) -> Span:
    """Return what a device is in: its activity, else its link, else its lock."""
    if view is None:
        return Span("· waiting", "faint")
    if view.activity:
        return Span(f"… {_ACTIVITIES[view.activity]}", "accent")
    if view.link != "up":
        glyph, word, style = _LINKS[view.link]
        return Span(f"{glyph} {word}", style)
    if not view.polled:
        return Span("▶ in use", "accent")
    glyph, word, style = _LOCKS[view.lock_state]
    return Span(f"{glyph} {word}", style)


def verdict_span(view: BoardView | None) -> Span:
    """Return the verdict of the last check."""
    if view is None or view.check is None:
        return Span("—", "faint")
    return Span("✓ ready", "good") if view.check.ready else Span("✗ not ready", "bad")


def note(view: BoardView | None) -> str:
    """Return the one sentence that matters most now: what goes on, what is wrong, why it is not ready."""
    if view is None:
        return ""
    if view.activity and view.steps:
        return view.steps[-1]
    if view.problem:
        return f"{view.problem} {view.advice}".strip()
    if view.check is not None and not view.check.ready:
        reasons = view.check.reasons
        more = f" (+{len(reasons) - 1})" if len(reasons) > 1 else ""
        return f"{reasons[0]}{more}" if reasons else ""
    return view.steps[-1] if view.steps else ""


def clock_hz(view: BoardView | None, kind: ClockKind) -> int | None:
    """Return the present clock of a kind, None where it is not known."""
    if view is None or view.state is None:
        return None
    clock = view.state.clock(kind)
    return clock.current_hz if clock is not None else None


def is_old(view: BoardView | None, now_s: float) -> bool:
    """Whether the values of a view are old, or may be: the link is down, or nobody looked for a while."""
    if view is None or view.state is None:
        return True
    return view.link != "up" or now_s - view.state.read_s > STALE_S
