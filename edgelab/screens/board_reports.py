"""What was done with one board, as lines: its last check, the present steps, the last lock and restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgelab import quantities as fmt
from edgelab.screens.board_words import verdict_span
from edgelab.widgets.spans import Line, Span, clip, fit, rule, wrap

if TYPE_CHECKING:
    from edgelab.drivers.check import Check, Evidence
    from edgelab.lab.board_view import BoardView

_MARKS = {True: ("✓", "good"), False: ("✗", "bad"), None: ("?", "warn")}
_TITLES = {"": "Last done", "check": "Checking", "lock": "Locking", "restore": "Restoring"}
_NAME_CELLS = 14
_HEAD_CELLS = 4 + _NAME_CELLS
_MOST_STEPS = 12
_LEAST_SOURCE_CELLS = 12


def check_lines(view: BoardView, now_s: float, cells: int) -> list[Line]:
    """Return the last check: what is wrong first, because it is what the operator came for."""
    report = view.check
    if report is None:
        if view.activity == "check":
            return [rule("Check", cells), [Span("  checking…", "accent")]]
        key: Line = [
            Span("  c", "accent", "screen.check"),
            Span(" checks it: fit for a session, or why not.", "muted"),
        ]
        return [rule("Check", cells), fit(key, cells)]
    verdict = verdict_span(report)
    title = rule("Check", cells, fmt.age(now_s - report.checked_s))
    good = sum(1 for check in report.checks if check.ok)
    lines = [title, fit([Span("  "), verdict, Span(_counts(good, len(report.checks)), "muted")], cells)]
    order = {False: 0, None: 1, True: 2}
    for check in sorted(report.checks, key=lambda check: (order[check.ok], not check.required)):
        lines += _check(check, now_s, cells)
    return lines


def _counts(good: int, all_of_them: int) -> str:
    return f"  {good} of {all_of_them} checks say yes"


def _check(check: Check, now_s: float, cells: int) -> list[Line]:
    mark, style = _MARKS[check.ok]
    if check.ok is None and not check.required:
        style = "muted"
    head: Line = [Span(f"  {mark} ", style), Span(f"{check.name[:13]:<{_NAME_CELLS}}", "muted")]
    room = cells - _HEAD_CELLS
    if check.ok or not check.reason:
        source = check.evidence.source if check.evidence else ""
        left = room - len(check.value) - 2
        if left < _LEAST_SOURCE_CELLS or not source:
            return [fit([*head, Span(check.value, "text")], cells)]
        shown = source if len(source) <= left else f"…{source[-(left - 1) :]}"
        gap = " " * (room - len(check.value) - len(shown))
        return [fit([*head, Span(check.value, "text"), Span(gap), Span(shown, "faint")], cells)]
    found = "" if check.value == fmt.UNKNOWN else check.value
    wanted = ", ".join(part for part in (found, f"wanted: {check.wanted}" if check.wanted else "") if part)
    lines: list[Line] = _hanging(head, check.reason, style, cells)
    if wanted and check.ok is False:
        lines += _hanging([Span(" " * _HEAD_CELLS)], wanted, "muted", cells)
    if check.evidence is not None:
        lines.append(_evidence(check.evidence, now_s, cells))
    return lines


def _hanging(head: Line, text: str, style: str, cells: int) -> list[Line]:
    """Return wrapped text whose further lines begin below its first."""
    first, *more = wrap(text, cells - _HEAD_CELLS)
    return [[*head, Span(first, style)], *([Span(" " * _HEAD_CELLS), Span(line, style)] for line in more)]


def _evidence(evidence: Evidence, now_s: float, cells: int) -> Line:
    said = evidence.text.strip().splitlines()
    quoted = f": {said[0]}" if said else ""
    age = f", {fmt.age(now_s - evidence.read_s)}"
    room = cells - _HEAD_CELLS - len(age)
    return [
        Span(" " * _HEAD_CELLS),
        Span(clip(f"{evidence.source}{quoted}", room), "faint"),
        Span(age, "faint"),
    ]


def activity_report_lines(view: BoardView, cells: int) -> list[Line]:
    """Return the steps of what is done now or was done last, and how the last lock and restore ended."""
    lines: list[Line] = []
    if view.steps or view.activity:
        lines = [rule(_TITLES[view.activity], cells)]
        left_out = len(view.steps) - _MOST_STEPS
        if left_out > 0:
            lines.append([Span(f"  … {left_out} steps before", "faint")])
        for step in view.steps[-_MOST_STEPS:]:
            lines += [[Span(f"  {line}", "muted")] for line in wrap(step, cells - 2)]
        if view.activity:
            lines.append([Span("  …", "accent")])
    if view.activity:
        return lines
    for part in (_lock_lines(view, cells), _restore_lines(view, cells)):
        lines += [[], *part] if lines and part else part
    return lines


def _lock_lines(view: BoardView, cells: int) -> list[Line]:
    lock = view.lock
    if lock is None:
        return []
    if lock.locked:
        return [rule("Last lock", cells), [Span("  ✓ ", "good"), Span("locked and confirmed", "text")]]
    title = "not locked: the power mode needs a reboot, which is yours to start"
    title = title if lock.needs_reboot else "not locked"
    lines: list[Line] = [rule("Last lock", cells), [Span("  ✗ ", "bad"), Span(title, "bad")]]
    return lines + _problem(lock.problem, lock.advice, cells)


def _restore_lines(view: BoardView, cells: int) -> list[Line]:
    restore = view.restore
    if restore is None:
        return []
    lines: list[Line] = [rule("Last restore", cells)]
    if restore.restored:
        return [*lines, [Span("  ✓ ", "good"), Span("all is put back", "text")]]
    return [
        *lines,
        [Span("  ✗ ", "bad"), Span("not all is put back", "bad")],
        *_problem(restore.problem, restore.advice, cells),
    ]


def _problem(problem: str, advice: str, cells: int) -> list[Line]:
    lines: list[Line] = []
    for text, style in ((problem, "bad"), (advice, "muted")):
        if text:
            lines += [[Span(f"    {line}", style)] for line in wrap(text, cells - 4)]
    return lines
