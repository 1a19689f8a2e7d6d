"""LLVM IR as tokens and top-level entities, as far as the guard needs it. It never fails on what it cannot name.

The syntax is from LLVM's language reference, "High Level Structure" and "Identifiers".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from edgelab.kernel.source_guard.findings import SourceFinding, word_set

_NAME = r'(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
_LABEL = r'(?:"[^"]*"|[-a-zA-Z$._0-9]{1,200}+)'
"""Bounded, so that the lexer does not read on from each of a long row of dashes."""
_TOKEN = re.compile(
    rf"""
    (?P<skip>\s+|;[^\n]*)
    |(?P<bytes>c"[^"]*")
    |(?P<label>{_LABEL}:)
    |(?P<string>"[^"]*")
    |(?P<global>@{_NAME})
    |(?P<local>%{_NAME})
    |(?P<comdat>\${_NAME})
    |(?P<metadata>![-a-zA-Z$._0-9\\]*)
    |(?P<record>\#dbg_\w+)
    |(?P<group>\#\d+)
    |(?P<summary>\^\d+)
    |(?P<number>-?\d[\w.+-]*)
    |(?P<word>[A-Za-z_][\w.]*)
    |(?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{<", ")]}>"
_STARTING_WORDS = word_set(
    "source_filename target define declare attributes module uselistorder uselistorder_bb"
)
_ASSIGNED = frozenset(("global", "local", "comdat", "metadata", "summary"))


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind (a group of the lexer), its text and where it stands."""

    kind: str
    text: str
    offset: int


@dataclass(frozen=True)
class Entity:
    """One top-level entity: a function, a global, a group of attributes, a metadata node, ..."""

    kind: str
    """`define`, `declare`, `global`, `type`, `comdat`, `attributes`, `metadata`, `source_filename`, `target` or
    the word that the text has in this place."""
    name: str
    tokens: tuple[Token, ...]

    @property
    def offset(self) -> int:
        """Where the entity begins."""
        return self.tokens[0].offset

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The texts of all tokens; equal for two entities that differ in spaces and comments only."""
        return tuple(token.text for token in self.tokens)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """A function's words up to its body, without references to attribute groups and metadata."""
        kept: list[str] = []
        for token in self.tokens[: self._body_start]:
            if token.kind == "metadata":
                if kept and kept[-1] == "!dbg":
                    kept.pop()
                elif token.text == "!dbg":
                    kept.append("!dbg")
                    continue
            elif token.kind != "group":
                kept.append(token.text)
        return tuple(kept)

    @cached_property
    def body(self) -> tuple[Token, ...]:
        """A function's tokens from its opening brace on."""
        return self.tokens[self._body_start :]

    @cached_property
    def _body_start(self) -> int:
        depth, parameters = 0, False
        for index, token in enumerate(self.tokens):
            if depth == 0 and parameters and token.text == "{":
                return index
            if token.text == "(" and self.tokens[index - 1].kind == "global":
                parameters = True
            depth += _step(token)
        return len(self.tokens)


def _step(token: Token) -> int:
    if token.kind != "sign":
        return 0
    return 1 if token.text in _OPENING else -1 if token.text in _CLOSING else 0


def tokens(text: str) -> Iterator[Token]:
    """Tokens of the text without spaces and comments."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if kind != "skip":
            yield Token(kind, match[0], match.start())


def entities(text: str) -> list[Entity]:
    """Top-level entities of the text, in order. Raises SourceFinding where the text has something else."""
    found: list[list[Token]] = []
    stream = list(tokens(text))
    depth = 0
    for index, token in enumerate(stream):
        following = stream[index + 1].text if index + 1 < len(stream) else ""
        starts = token.text in _STARTING_WORDS or (token.kind in _ASSIGNED and following == "=")
        if depth == 0 and starts:
            found.append([])
        elif not found:
            raise SourceFinding(token.offset, f"{token.text[:40]} does not start anything LLVM IR has")
        depth += _step(token)
        if depth < 0:
            raise SourceFinding(token.offset, "a bracket closes that none opened")
        found[-1].append(token)
    if depth != 0:
        raise SourceFinding(len(text), "a bracket is not closed")
    return [_entity(tuple(group)) for group in found]


def _entity(group: tuple[Token, ...]) -> Entity:
    first = group[0]
    if first.kind in _ASSIGNED:
        kind = "type" if first.kind == "local" else first.kind
        return Entity(kind, first.text, group)
    if first.text in ("define", "declare"):
        named = next((token.text for token in group if token.kind == "global"), "")
        return Entity(first.text, named, group)
    name = group[1].text if len(group) > 1 and first.text in ("attributes", "target") else first.text
    return Entity(first.text, name, group)
