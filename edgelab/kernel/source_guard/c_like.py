"""Guard for edited kernel source in a C-like language: the generated items, and bodies of allow-listed names only."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from edgelab.kernel.source_guard import c_text
from edgelab.kernel.source_guard.c_body import BodyCheck, Language
from edgelab.kernel.source_guard.c_text import Item, Token
from edgelab.kernel.source_guard.findings import SourceFinding, check_text, refusal

_DEFINE = re.compile(r"#[ \t]*define[ \t]+[A-Z][A-Z0-9_]*[ \t]+\(?-?[\d.][\w.]*\)?")
"""A number with a name in capitals, which no function or keyword of the languages has."""


@dataclass(frozen=True)
class _Source:
    directives: list[Token]
    items: list[Item]


def check(source: str, original: str, language: Language) -> None:
    """Raise GuardRefusal unless `source` is an edit of `original` that keeps its interface.

    All functions, prototypes and declarations stay, with their attributes; the bodies of functions may change,
    to what uses listed names, their own variables and what the function used before. Directives stay, new
    are at most the language's pragmas and numbers with a name.
    """
    try:
        check_text(source, original)
        c_text.check_characters(source, original)
        before, after = _Source(*c_text.split(original)), _Source(*c_text.split(source))
        named = _check_directives(after.directives, before.directives, language)
        _check_interface(after.items, before.items)
        bodies: dict[tuple[str, ...], list[Item]] = {}
        for item in before.items:
            bodies.setdefault(item.signature, []).append(item)
        for item in after.items:
            generated = bodies[item.signature].pop(0)
            if item.words != generated.words:
                BodyCheck(item, generated, language, named).run()
    except SourceFinding as found:
        raise refusal(found, source) from None


def _check_directives(after: list[Token], before: list[Token], language: Language) -> set[str]:
    """Names that new directives define. Raises SourceFinding for a directive that is not on the list."""
    counts = Counter(" ".join(token.text.split()) for token in before)
    named: set[str] = set()
    for token in after:
        text = " ".join(token.text.split())
        if counts[text] > 0:
            counts[text] -= 1
        elif _DEFINE.fullmatch(token.text):
            named.add(text.split()[1] if text.startswith("#define") else text.split()[2])
        elif not any(re.fullmatch(pattern, text) for pattern in language.pragmas):
            what = f"the directive {text[:60]} is not on the list"
            raise SourceFinding(token.offset, what, hack="pragma" not in text)
    removed = [text for text, left in counts.items() if left > 0 and "pragma" not in text]
    if removed:
        raise SourceFinding(0, f"the directive {removed[0][:60]} was removed")
    return named


def _check_interface(after: list[Item], before: list[Item]) -> None:
    counts = Counter(item.signature for item in before)
    for item in after:
        counts[item.signature] -= 1
    names = {item.name for item in before}
    for item in after:
        if counts[item.signature] < 0:
            known = item.name in names
            what = f"the signature of {item.name} was changed" if known else f"{item.name} was added"
            data = not item.body and "(" not in item.signature
            raise SourceFinding(
                item.offset, what + (": it could keep data between calls" if data else ""), hack=data
            )
    for item in before:
        if counts[item.signature] > 0:
            raise SourceFinding(0, f"{item.name} was removed or renamed")
