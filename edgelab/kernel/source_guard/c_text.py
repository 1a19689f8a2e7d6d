"""C-like kernel source as tokens, directives and top-level items, as far as the guard needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from edgelab.kernel.source_guard.findings import SourceFinding

_TOKEN = re.compile(
    r"""
    (?P<directive>^[ \t]*+\#(?:[^\n\\]|\\\n|\\.)*+)
    |(?P<skip>\n|[^\S\n]++|//[^\n]*+|/\*.*?(?:\*/|\Z))
    |(?P<text>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<sign>->|::|\#\#|<<=|>>=|<<|>>|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
"""Always matches, and never reads on for an end that may not come: it takes linear time."""
_SIGNS = frozenset("->;:,.?()[]{}+*/%&|^~!=<>")
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind (a group of the lexer), its text and where it stands."""

    kind: str
    text: str
    offset: int


@dataclass(frozen=True)
class Item:
    """A top-level item: a function, a prototype, a declaration. `body` holds the braces and what is inside."""

    header: tuple[Token, ...]
    body: tuple[Token, ...]

    @property
    def offset(self) -> int:
        """Where the item begins."""
        return self.header[0].offset if self.header else self.body[0].offset

    @cached_property
    def signature(self) -> tuple[str, ...]:
        """The header's words, and whether a body follows."""
        return (*(token.text for token in self.header), "{}" if self.body else ";")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The body's words."""
        return tuple(token.text for token in self.body)

    @property
    def is_function(self) -> bool:
        """Whether this is a function with its body."""
        return bool(self.body) and bool(self.header) and self.header[-1].text == ")"

    @property
    def name(self) -> str:
        """A function's name, or the beginning of the item."""
        depth = 0
        for index in range(len(self.header) - 1, 0, -1):
            depth += {")": 1, "(": -1}.get(self.header[index].text, 0)
            if depth == 0 and self.header[index].text == "(":
                return self.header[index - 1].text
        return " ".join(token.text for token in self.header)[:60]


def check_characters(source: str, original: str) -> None:
    """Raise SourceFinding for a line that is continued by a backslash, unless the original has that line."""
    lines = {line for line in original.split("\n") if line.rstrip().endswith("\\")}
    offset = 0
    for line in source.split("\n"):
        if line.rstrip().endswith("\\") and line not in lines:
            raise SourceFinding(offset, "a line that a backslash continues", hack=True)
        offset += len(line) + 1
    if (found := source.find("??")) >= 0:
        raise SourceFinding(found, "two question marks, which may be a trigraph", hack=True)


def tokens(text: str) -> Iterator[Token]:
    """Tokens and directives of the text without spaces and comments."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if kind != "skip":
            yield Token(kind, match[0].strip() if kind == "directive" else match[0], match.start())


def split(text: str) -> tuple[list[Token], list[Item]]:
    """Directives and top-level items of the text. Raises SourceFinding for brackets that do not match."""
    directives: list[Token] = []
    items: list[Item] = []
    header: list[Token] = []
    body: list[Token] = []
    open_brackets: list[str] = []
    for token in tokens(text):
        if token.kind == "directive":
            directives.append(token)
            continue
        in_body = bool(body) or (token.text == "{" and not open_brackets)
        if not in_body and token.text == ";" and not open_brackets:
            items += [Item(tuple(header), ())] if header else []
            header = []
            continue
        (body if in_body else header).append(token)
        _step(token, open_brackets)
        if body and not open_brackets:
            items.append(Item(tuple(header), tuple(body)))
            header, body = [], []
    if open_brackets or header:
        raise SourceFinding(len(text), "the text ends within an item")
    return directives, items


def _step(token: Token, open_brackets: list[str]) -> None:
    if token.kind != "sign":
        return
    if token.text in "([{":
        open_brackets.append(token.text)
    elif token.text in _PAIRS and (not open_brackets or open_brackets.pop() != _PAIRS[token.text]):
        raise SourceFinding(token.offset, f"a bracket {token.text} that nothing opened")


def known_sign(token: Token) -> bool:
    """Whether a sign has a meaning in a kernel: neither a piece of a directive nor `::`, which reaches libraries."""
    return token.text in ("->", "<<", ">>", "<<=", ">>=") or token.text in _SIGNS
