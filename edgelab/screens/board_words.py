"""What a view of a board means, in one glyph, one word and one colour; used by rows and details alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from edgelab import quantities as fmt
from edgelab.widgets.spans import Span

if TYPE_CHECKING:
    from edgelab.drivers.check import CheckReport
    from edgelab.drivers.device_state import ClockKind
    from edgelab.lab.board_view import BoardView
    from edgelab.lab.device import Device

STALE_S = 5.0
"""From here on a value looks old."""

Need = Literal["", "trust", "password"]
"""What only the operator can give: trust in a host key that was never seen, the password of sudo."""

_ACTIVITIES = {"check": "checking", "lock": "locking", "restore": "restoring"}
_LINKS = {"idle": ("·", "waiting", "faint"), "connecting": ("…", "connecting", "muted")}
_LINKS |= {"lost": ("✗", "link lost", "bad"), "failed": ("✗", "no link", "bad")}
_LOCKS = {
    "locked": ("●", "locked", "good"),
    "lost": ("✗", "lock lost", "bad"),
    "unlocked": ("○", "unlocked", "warn"),
    "unknown": ("●", "up", "text"),
}
_PROBLEMS = {"unknown_host_key": "new key", "changed_host_key": "wrong key", "login": "no login"}
_TRUST_ADVICE = "Compare it with what the board itself shows (ssh-keygen -lf on its host key), then trust it."
_PASSWORD_ADVICE = "sudo on this device needs a password."


def state_span(view: BoardView | None) -> Span:
    """Return what a device is in: its activity, else its link, else its lock."""
    if view is None:
        return Span("· waiting", "faint")
    if view.activity:
        return Span(f"… {_ACTIVITIES[view.activity]}", "accent")
    if view.link != "up":
        glyph, word, style = _LINKS[view.link]
        if view.link == "failed":
            word = _PROBLEMS.get(view.problem_kind, word)
        return Span(f"{glyph} {word}", style)
    if not view.polled:
        return Span("▶ in use", "accent")
    glyph, word, style = _LOCKS[view.lock_state]
    return Span(f"{glyph} {word}", style)


def verdict_span(report: CheckReport | None) -> Span:
    """Return the verdict of a check."""
    if report is None:
        return Span(fmt.UNKNOWN, "faint")
    return Span("✓ ready", "good") if report.ready else Span("✗ not ready", "bad")


def first_reason(report: CheckReport) -> str:
    """Return why a device is not ready: the first reason, and how many more there are."""
    reasons = list(report.reasons)
    if not reasons:
        return ""
    return f"{reasons[0]} (+{len(reasons) - 1})" if len(reasons) > 1 else reasons[0]


def note(view: BoardView | None) -> str:
    """Return the one sentence that matters most now: what goes on, what is wrong, why it is not ready."""
    if view is None:
        return ""
    if view.activity:
        return view.steps[-1] if view.steps else ""
    if view.problem:
        return f"{view.problem} {advice(view)}".strip()
    if view.state is not None and view.state.lease is not None:
        return f"held for {view.state.lease.purpose}"
    if view.check is not None and not view.check.ready:
        return first_reason(view.check)
    return view.steps[-1] if view.steps else ""


def advice(view: BoardView) -> str:
    """Return what to do about the problem of a view, in terms of this screen."""
    return _TRUST_ADVICE if view.problem_kind == "unknown_host_key" else view.advice


def need_of(device: Device, view: BoardView | None) -> Need:
    """Return what the device waits for that only the operator can give."""
    if view is None:
        return ""
    if view.link == "failed" and view.problem_kind == "unknown_host_key":
        return "trust"
    lacking = view.state is not None and view.state.sudo_problem
    if device.sudo == "password" and (lacking or view.problem_kind == "sudo"):
        return "password"
    return ""


def need_words(need: Need) -> str:
    """Return the sentence for a need that nothing else tells of."""
    return _PASSWORD_ADVICE if need == "password" else ""


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


def mhz(freq_hz: float | None) -> str:
    """Return a clock in MHz without its unit, for where the unit stands beside it."""
    return fmt.UNKNOWN if freq_hz is None else f"{freq_hz / 1e6:.0f}"


def short_age(seconds: float | None) -> str:
    """Return an age in five cells: `now`, `12 s`, `5 min`, `2 h`, `3 d`."""
    return fmt.age(seconds).removesuffix(" ago")
