"""Collects what one look found: values by field, and for each where it came from or why it is not known."""

from __future__ import annotations

import fnmatch
from typing import Any

from edgelab.drivers.check import Evidence
from edgelab.drivers.probe import CommandOutput, ProbeReply
from edgelab.drivers.readings.node_lines import whole

_TEXT_CHARS = 300


class Look:
    """The fields of a `DeviceState` as they are read from one reply."""

    def __init__(self, reply: ProbeReply) -> None:
        self.reply = reply
        self.fields: dict[str, Any] = {}
        self._unknown: dict[str, str] = {}
        self._evidence: dict[str, Evidence] = {}

    def text(self, path: str) -> str | None:
        """Return a file as text, None where it could not be read."""
        data = self.reply.files.get(path)
        return None if data is None else data.decode(errors="replace").rstrip("\n\0 ")

    def matching(self, *patterns: str) -> dict[str, str]:
        """Return the files whose path is matched by a shell pattern (`*` stays within a folder), sorted by path."""
        return {
            path: self.text(path) or ""
            for path in sorted(self.reply.files)
            if any(_matches(path, pattern) for pattern in patterns)
        }

    def numbers(self, *patterns: str) -> dict[str, int]:
        """Return those of the matching files that hold a whole number, sorted by path."""
        found = {path: whole(text) for path, text in self.matching(*patterns).items()}
        return {path: number for path, number in found.items() if number is not None}

    def output(self, name: str) -> CommandOutput | None:
        """Return what a command printed; None when it was not run."""
        return self.reply.outputs.get(name)

    def found(self, field: str, value: object, source: str, text: str | bytes = "") -> None:
        """Set a field with the source of its value."""
        self.fields[field] = value
        self.cite(field, source, text)

    def cite(self, field: str, source: str, text: str | bytes) -> None:
        """Say what was read for `field`; long texts are cut."""
        said = text.decode(errors="replace") if isinstance(text, bytes) else text
        self._evidence[field] = Evidence(source, said.strip()[:_TEXT_CHARS], self.reply.ended_s)

    def unknown(self, field: str, why: str) -> None:
        """Say why a field is not known."""
        self._unknown[field] = why

    def refused(self, pattern: str) -> list[str]:
        """Return the files that a pattern matches and that could not be read."""
        return [path for path in self.reply.refused if _matches(path, pattern)]

    def why_unread(self, pattern: str) -> str:
        """Return why no file of a pattern could be read, in the board's own words."""
        for path in self.refused(pattern):
            return f"{path}: {self.reply.refused[path]}"
        return f"{pattern} is not on this board"

    def unread(self, field: str, *patterns: str) -> None:
        """Say of a field that none of the files it needs could be read."""
        refused = next((pattern for pattern in patterns if self.refused(pattern)), patterns[0])
        self.unknown(field, self.why_unread(refused))

    def unanswered(self, field: str, name: str, argv: str) -> None:
        """Say of a field that the command it needs gave no answer."""
        output = self.output(name)
        if output is None:
            why = self.reply.sudo_problem or "only a full check runs it"
            self.unknown(field, f"{argv} was not run ({why.rstrip('.')})")
        elif output.exit_code is None:
            self.unknown(field, f"{argv} did not end within its time limit")
        else:
            said = output.output.decode(errors="replace").strip().splitlines()
            self.unknown(field, f"{argv} said {said[-1][:_TEXT_CHARS]!r}" if said else f"{argv} said nothing")

    def closing(self) -> dict[str, Any]:
        """Return all fields, with `unknown` and `evidence`."""
        return {
            **self.fields,
            "unknown": tuple(self._unknown.items()),
            "evidence": tuple(self._evidence.items()),
        }


def _matches(path: str, pattern: str) -> bool:
    # fnmatch's star crosses slashes, a shell's does not.
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)
