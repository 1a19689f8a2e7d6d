"""The candidate file that an operator names: found, read, and refused with one clear message."""

from __future__ import annotations

from pathlib import Path

from edgelab.errors import UsageError

LARGEST_BYTES = 4 << 20
"""Longest candidate text; the programs of whole models have some hundred kilobytes."""

_ADVICE = "Name a UTF-8 text file with the candidate's TVMScript."


def candidate_path(typed: str) -> Path:
    """Return the absolute path of the file that an operator typed.

    Raises `UsageError` for nothing, and for a folder, a pipe or a device, which may never end. A file that is
    not there is for `read_candidate` to tell.
    """
    named = typed.strip()
    if not named:
        raise UsageError("No candidate file is named.", advice=_ADVICE)
    try:
        path = Path(named).expanduser().absolute()
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise UsageError(f"The candidate {path} is {what}.", advice=_ADVICE)
    except (OSError, ValueError, RuntimeError) as error:
        # A part that may not be entered, a NUL in the name, a home folder of nobody.
        raise UsageError(f"The candidate {named!r} cannot be found: {error}.", advice=_ADVICE) from error
    return path


def read_candidate(path: Path, what: str = "candidate") -> str:
    """Return the text of a candidate file; `what` is what messages call it.

    Raises `UsageError` when it cannot be read as text.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"The {what} {path} cannot be read: {error.strerror}.", advice=_ADVICE) from error
    except ValueError as error:
        # A NUL in the name.
        raise UsageError(f"The {what} {str(path)!r} cannot be read: {error}.", advice=_ADVICE) from error
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"The {what} {path} has more than {LARGEST_BYTES} bytes, the most allowed.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"The {what} {path} is not UTF-8 text: {error}.", advice=_ADVICE) from error
