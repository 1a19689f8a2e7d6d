"""What the guards of all languages share: refusals with a line, and limits on the text as a whole."""

from __future__ import annotations

from edgelab.kernel.guard import GuardRefusal

MAX_CHARACTERS = 8_000_000
MAX_GROWTH_CHARACTERS = 1_000_000
"""How much longer than the generated source an edit may be; unrolling by hand needs some room."""


class SourceFinding(Exception):
    """Carries a finding up to `refusal`; `offset` is where in the text it is."""

    def __init__(self, offset: int, what: str, *, hack: bool = False) -> None:
        super().__init__(what)
        self.offset = offset
        self.what = what
        self.hack = hack


def refusal(found: SourceFinding, source: str) -> GuardRefusal:
    """The finding as a failure that names the line (from 1) and shows it."""
    line = source.count("\n", 0, found.offset) + 1
    return GuardRefusal(line, found.what, hack=found.hack, text=source)


def check_text(source: str, original: str) -> None:
    """Raise SourceFinding for a text that is too long or has characters other than printable ASCII.

    Compilers disagree about control characters (LLVM ends a comment at a carriage return), so that one
    could hide code from the guard.
    """
    limit = min(MAX_CHARACTERS, len(original) + MAX_GROWTH_CHARACTERS)
    if len(source) > limit:
        raise SourceFinding(0, f"the source has {len(source)} characters; {limit} are allowed")
    for offset, character in enumerate(source):
        if not (" " <= character <= "~" or character in "\n\t"):
            what = f"the character U+{ord(character):04X} is not allowed; write printable ASCII"
            raise SourceFinding(offset, what, hack=True)


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for the allow-lists."""
    return frozenset(text.split())
