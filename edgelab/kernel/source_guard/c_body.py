"""Checks one edited function body of a C-like language against a language's allow-lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edgelab.kernel.source_guard.c_text import Item, Token, known_sign
from edgelab.kernel.source_guard.findings import SourceFinding

_HEADS = frozenset(("if", "for", "while", "switch"))
"""Keywords whose brackets a statement may follow, which looks like a call of what is in the brackets."""
_LONGEST_CAST = 16
"""Most words of a cast; a longer row of types is nothing that anyone writes, and is refused."""
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Language:
    """What an edit may use in one language. `refused` says in words what a name is after, for the message."""

    types: frozenset[str]
    qualifiers: frozenset[str]
    keywords: frozenset[str]
    functions: frozenset[str]
    values: frozenset[str]
    member: re.Pattern[str]
    pragmas: tuple[str, ...]
    refused: Mapping[str, str]


class BodyCheck:
    """Checks the body of `item`; what the function had in `generated` it may keep."""

    def __init__(self, item: Item, generated: Item, language: Language, named: Iterable[str]) -> None:
        self.item = item
        self.generated = generated
        self.language = language
        self.kinds = language.types | language.qualifiers
        self.body = item.body
        self.header = {token.text for token in item.header if token.kind == "name"} - {item.name}
        self.used = {token.text for token in generated.body if token.kind == "name"}
        self.called = _called(generated.body)
        self.pairs = _pairs(item.body)
        self.variables: set[str] = set()
        self.memory: set[str] = set(self.header)
        """Names that may be seen as pointers: arguments, arrays and pointers."""
        self._collect_declarations()
        self.allowed = (
            language.types | language.qualifiers | language.keywords | language.functions | language.values
            | self.header | self.used | self.variables | set(named)
        )  # fmt: skip

    def run(self) -> None:
        """Raise SourceFinding at the first thing that is not allowed."""
        if not self.item.is_function:
            raise SourceFinding(self.item.offset, f"{self.item.name} was changed; only kernels may be edited")
        kept = [word for word in self.generated.words if word in self.language.refused]
        if kept:
            what = f"{self.item.name} uses {self.language.refused[kept[0]]} and must stay as it is"
            raise SourceFinding(self.item.offset, what)
        for index, token in enumerate(self.body):
            if token.kind == "text":
                raise SourceFinding(token.offset, "text in a kernel", hack=True)
            if token.kind == "sign":
                self._sign(index, token)
            elif token.kind == "name":
                self._name(index, token)

    def _sign(self, index: int, token: Token) -> None:
        if not known_sign(token):
            raise SourceFinding(token.offset, f"the sign {token.text} has no place in a kernel", hack=True)
        previous = self.body[index - 1] if index else None
        if token.text == "[" and not (
            previous is not None and (previous.kind == "name" or previous.text in ("]", ")"))
        ):
            raise SourceFinding(token.offset, "a [ that indexes nothing: a lambda or an attribute", hack=True)
        if token.text != "(" or previous is None:
            return
        if previous.text == "]":
            raise SourceFinding(token.offset, "a call of an element of an array", hack=True)
        if previous.text == "}":
            raise SourceFinding(token.offset, "a call of a block", hack=True)
        if previous.text == ")":
            self._check_cast(index)

    def _check_cast(self, index: int) -> None:
        """`) (` is a cast, or follows the head of a statement; else it calls what a pointer points to."""
        start = self.pairs[index - 1]
        before = self.body[start - 1] if start else None
        if before is not None and before.text in _HEADS:
            return
        if not self._is_type(start + 1, index - 1):
            raise SourceFinding(self.body[index].offset, "a call of something without a name", hack=True)

    def _is_type(self, start: int, end: int) -> bool:
        words = self.body[start:end]
        return any(token.text in self.language.types for token in words) and all(
            token.text in self.kinds or token.text == "*" for token in words
        )

    def _name(self, index: int, token: Token) -> None:
        language = self.language
        if token.text in language.refused:
            what = f"{language.refused[token.text]} ({token.text}) is not allowed"
            raise SourceFinding(token.offset, what, hack=True)
        previous = self.body[index - 1].text if index else ""
        following = self.body[index + 1].text if index + 1 < len(self.body) else ""
        if previous in (".", "->"):
            if not (language.member.fullmatch(token.text) or token.text in self.used) or following == "(":
                raise SourceFinding(token.offset, f"the member {token.text} is not on the list", hack=True)
            return
        if token.text not in self.allowed:
            raise SourceFinding(
                token.offset, f"the name {token.text} is not on the list and is not declared here", hack=True
            )
        if following == "(" and not self._may_be_called(token.text):
            raise SourceFinding(token.offset, f"a call of {token.text}, which is not on the list", hack=True)
        if token.text in language.types:
            self._check_pointer_cast(index)

    def _may_be_called(self, name: str) -> bool:
        language = self.language
        return (
            name in language.functions
            or name in language.keywords
            or name in language.types
            or name in self.called
        )

    def _check_pointer_cast(self, index: int) -> None:
        """A cast to a pointer must be of an argument, an array or a pointer: a number is no address."""
        start = index - 1
        while start > index - _LONGEST_CAST and self.body[start].text in self.kinds:
            start -= 1
        if self.body[start].text in self.kinds:
            raise SourceFinding(self.body[index].offset, f"a type of more than {_LONGEST_CAST} words")
        if self.body[start].text != "(":
            return
        end = index + 1
        while end < min(index + _LONGEST_CAST, len(self.body)) and self.body[end].text != ")":
            end += 1
        if end == index + _LONGEST_CAST and self.body[end - 1].text in self.kinds | {"*"}:
            raise SourceFinding(self.body[index].offset, f"a type of more than {_LONGEST_CAST} words")
        if not self._is_type(start + 1, end) or "*" not in {token.text for token in self.body[start:end]}:
            return
        operand = end + 1
        while operand < len(self.body) and self.body[operand].text in ("(", "&", "*", "+", "-"):
            operand += 1
        if self._is_type(operand, operand + 1):
            return  # A cast of a cast: the inner one is looked at for itself.
        if operand < len(self.body) and self.body[operand].text not in self.memory:
            raise SourceFinding(self.body[start].offset, "a number as an address", hack=True)

    def _collect_declarations(self) -> None:
        """Local variables: a type, then names, each at the start of a declarator."""
        index = 0
        while index < len(self.body):
            if self.body[index].text not in self.language.types:
                index += 1
                continue
            after = index + 1
            while after < len(self.body) and (
                self.body[after].text in self.kinds or self.body[after].text == "*"
            ):
                after += 1
            declares = after + 1 < len(self.body) and self.body[after].kind == "name"
            index = self._declarators(after) if declares else after

    def _declarators(self, index: int) -> int:
        """Collect the names declared from `index` on; where the declaration ends."""
        depth, expected = 0, True
        while index < len(self.body):
            token = self.body[index]
            if expected and token.kind == "name":
                self.variables.add(token.text)
                array = index + 1 < len(self.body) and self.body[index + 1].text == "["
                if array or self.body[index - 1].text == "*":
                    self.memory.add(token.text)
                expected = False
            elif token.text in _OPENING and token.kind == "sign":
                depth += 1
            elif token.text in _CLOSING and token.kind == "sign":
                depth -= 1
            if depth < 0 or (depth == 0 and token.text == ";"):
                return index
            if depth == 0 and token.text == ",":
                expected = True
            index += 1
        return index


def _called(body: tuple[Token, ...]) -> set[str]:
    return {
        token.text
        for token, following in itertools.pairwise(body)
        if token.kind == "name" and following.text == "("
    }


def _pairs(body: tuple[Token, ...]) -> dict[int, int]:
    """For each closing round bracket, where its opening one is."""
    pairs: dict[int, int] = {}
    open_at: list[int] = []
    for index, token in enumerate(body):
        if token.text == "(" and token.kind == "sign":
            open_at.append(index)
        elif token.text == ")" and token.kind == "sign":
            pairs[index] = open_at.pop()
    return pairs
