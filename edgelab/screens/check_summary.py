"""The pre-session check of several devices: one verdict each, with its first reason, and how many are ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from edgelab.screens.board_words import advice, first_reason
from edgelab.widgets.spans import Line, Span, fit, rule

if TYPE_CHECKING:
    from edgelab.lab.board_view import BoardView

Answer = Literal["ready", "not ready", "checking"]

_LOOKS: dict[Answer, tuple[str, str, str]] = {
    "ready": ("✓", "READY", "good"),
    "not ready": ("✗", "NOT READY", "bad"),
    "checking": ("…", "checking", "accent"),
}
_MOST_NAME_CELLS = 26


class Verdict(msgspec.Struct, frozen=True):
    """The answer for one device; `reasons` is empty unless it is not ready."""

    device: str
    answer: Answer
    reason: str = ""
    reasons: tuple[str, ...] = ()


def verdicts(asked: Mapping[str, float], views: Mapping[str, BoardView]) -> list[Verdict]:
    """Return the answers of the devices that were asked.

    `asked` maps a device to the time of the check it had before (0 for none): a check of that time is no answer.
    """
    return [_verdict(name, before_s, views.get(name)) for name, before_s in asked.items()]


def _verdict(name: str, before_s: float, view: BoardView | None) -> Verdict:
    if view is not None and view.link != "up" and view.problem:
        said = f"{view.problem} {advice(view)}".strip()
        return Verdict(name, "not ready", said, (said,))
    report = view.check if view is not None else None
    if view is None or report is None or view.activity == "check" or report.checked_s == before_s:
        held = view is not None and view.activity == "" and view.steps
        return Verdict(name, "checking", view.steps[-1] if view is not None and held else "")
    if report.ready:
        return Verdict(name, "ready")
    return Verdict(name, "not ready", first_reason(report), report.reasons)


def counts(found: Iterable[Verdict]) -> str:
    """Return the numbers of answers in words: `2 ready, 1 not ready`."""
    answers = [verdict.answer for verdict in found]
    return ", ".join(f"{answers.count(word)} {word}" for word in _LOOKS if word in answers)


def summary_lines(found: list[Verdict], cells: int, *, folded: bool) -> list[Line]:
    """Return the panel; folded it is one line."""
    style = "bad" if any(verdict.answer == "not ready" for verdict in found) else "good"
    style = "accent" if any(verdict.answer == "checking" for verdict in found) else style
    if folded:
        key = Span("  v", "accent", "screen.verdicts")
        line: Line = [Span("Session check: ", "muted"), Span(counts(found), style), key]
        return [fit([*line, Span(" shows each", "muted")], cells)]
    name_cells = min(max((len(verdict.device) for verdict in found), default=0), _MOST_NAME_CELLS)
    lines = [rule("Session check", cells, f"{counts(found)}   y copies, v folds")]
    for verdict in found:
        glyph, word, look = _LOOKS[verdict.answer]
        shown = f"{verdict.device[:name_cells]:<{name_cells}}"
        lines.append(
            fit(
                [
                    Span(f"  {glyph} {word:<9}  ", look),
                    Span(f"{shown}  ", "text"),
                    Span(verdict.reason, "muted"),
                ],
                cells,
            )
        )
    return lines


def summary_text(found: list[Verdict]) -> str:
    """Return the panel for copying, with all reasons."""
    lines = [f"session check: {counts(found)}"]
    for verdict in found:
        lines.append(f"{verdict.device}: {_LOOKS[verdict.answer][1]}")
        lines += [f"  {reason}" for reason in verdict.reasons]
    return "\n".join(lines)
