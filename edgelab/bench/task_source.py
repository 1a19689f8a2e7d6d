"""The text of a task module: its named constants, and the same text with a profile's values in their place."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import msgspec

from edgelab.errors import TaskError

Constant = bool | int | float | str | list


class SourceConstant(msgspec.Struct, frozen=True):
    """A top-level `NAME = literal` of a task module. Columns count UTF-8 bytes, lines start at 1."""

    name: str
    value: object
    line: int
    column: int
    end_line: int
    end_column: int


def read_source(path: Path) -> str:
    """Return the text of a task module. Raises TaskError when the file cannot be read as UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TaskError(f"task file {path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise TaskError(
            f"task file {path} is not UTF-8 text: {error.reason} at byte {error.start}."
        ) from error


def constants_of(text: str, path: Path) -> dict[str, SourceConstant]:
    """Return the upper-case literals assigned at the top level of a module, by name.

    `path` only names the file in messages. Raises TaskError with the line when `text` is not Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise TaskError(f"task file {path}, line {line}: {getattr(error, 'msg', None) or error}.") from error
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            constant = _literal(node.targets[0].id, node.value)
            if constant is not None:
                found[constant.name] = constant
    return found


def _literal(name: str, value: ast.expr) -> SourceConstant | None:
    if not name.isupper():
        return None
    try:
        literal = ast.literal_eval(value)
    except ValueError:
        return None
    end_line = value.end_lineno or value.lineno
    return SourceConstant(name, literal, value.lineno, value.col_offset, end_line, value.end_col_offset or 0)


def with_constants(text: str, constants: Mapping[str, Constant], path: Path) -> str:
    """Return `text` with the literals of the named constants replaced; every other line keeps its number.

    Replacing the text, and not the values afterwards, lets constants that are computed from others follow.
    Raises TaskError for a constant that the module does not have or that is of another kind there.
    """
    if not constants:
        return text
    known = constants_of(text, path)
    for name, value in constants.items():
        check_constant(name, value, known, path)
    lines = text.splitlines(keepends=True)
    for name in sorted(constants, key=lambda name: known[name].line, reverse=True):
        place = known[name]
        head = lines[place.line - 1].encode()[: place.column].decode()
        tail = lines[place.end_line - 1].encode()[place.end_column :].decode()
        blank = ["\n"] * (place.end_line - place.line)
        lines[place.line - 1 : place.end_line] = [f"{head}{constants[name]!r}{tail}", *blank]
    return "".join(lines)


def check_constant(name: str, value: Constant, known: Mapping[str, SourceConstant], path: Path) -> None:
    """Raise TaskError unless the module at `path` has the constant `name` with a value of the same kind."""
    if name not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise TaskError(f"constant {name} is not in {path}; its constants are: {listed}.")
    default = known[name].value
    if _kind(value) != _kind(default) and (_kind(value), _kind(default)) != ("integer", "number"):
        raise TaskError(f"constant {name} is of kind {_kind(value)}, but of kind {_kind(default)} in {path}.")


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = ((int, "integer"), (float, "number"), (str, "string"), ((list, tuple), "list"))
    return next((name for types, name in names if isinstance(value, types)), type(value).__name__)
