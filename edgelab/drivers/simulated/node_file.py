"""Reads and writes single files of a board's tree; whoever reads one sees its old or its new text, never half."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_written: dict[str, tuple[str, int, int]] = {}
"""Text, modification time and inode of what `put` wrote last: asking for them costs a fifth of reading the file,
and a board's hundred nodes are brought up to date several times a second."""


def put(tree: Path, path: str, text: str) -> None:
    """Write one file of the tree, unless it holds that already. Raises OSError.

    Bytes that are no UTF-8 are lone surrogates in `text`.
    """
    place = f"{tree}/{path}"
    known = _written.get(place)
    if known is not None and known[0] == text and _stamp(place) == known[1:]:
        return
    # Not beside the node: a pattern over its folder would find it.
    new = f"{tree}/.new-{os.getpid()}-{threading.get_ident()}"
    with open(new, "wb", buffering=0) as file:  # noqa: PTH123 - see _written
        file.write(text.encode(errors="surrogateescape"))
    try:
        os.replace(new, place)  # noqa: PTH105
    except FileNotFoundError:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(new).replace(place)
    stamp = _stamp(place)
    if stamp is not None:
        _written[place] = (text, *stamp)


def text_of(tree: Path, path: str) -> str | None:
    """Return a file of the tree without the white space around it, None where there is none."""
    try:
        descriptor = os.open(f"{tree}/{path}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 1 << 16).decode(errors="replace").strip()
    finally:
        os.close(descriptor)


def number_of(tree: Path, path: str, default: int) -> int:
    """Return the whole number that a file of the tree holds, `default` where it holds none."""
    said = text_of(tree, path) or ""
    return int(said) if said.isdecimal() else default


def forget(tree: Path) -> None:
    """Forget what was written into a tree that is thrown away."""
    for place in [place for place in _written if place.startswith(f"{tree}/")]:
        del _written[place]


def _stamp(place: str) -> tuple[int, int] | None:
    try:
        found = os.stat(place)  # noqa: PTH116 - a Path for each of a hundred nodes costs more than the call
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
