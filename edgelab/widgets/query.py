"""The `/` filter: words that must all occur, `!word` for one that must not."""

from __future__ import annotations


class Query:
    """A parsed filter. Case does not matter; an empty query matches everything."""

    def __init__(self, text: str = "") -> None:
        self.text = text.strip()
        words = self.text.casefold().split()
        self._without = tuple(word[1:] for word in words if word.startswith("!") and len(word) > 1)
        self._with = tuple(word for word in words if not word.startswith("!"))

    def __bool__(self) -> bool:
        return bool(self._with or self._without)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def matches(self, text: str) -> bool:
        """Say whether `text` has every wanted word and none of the unwanted."""
        if not self:
            return True
        folded = text.casefold()
        return all(word in folded for word in self._with) and not any(
            word in folded for word in self._without
        )
