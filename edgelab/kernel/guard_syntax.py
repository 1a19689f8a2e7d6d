"""What all rules of the guard share: findings, dotted names, and the syntax that no program needs."""

from __future__ import annotations

import ast

from edgelab.kernel import guard_names as names

_ADVICE = {
    ast.Import: "remove it: I, R and T are defined already",
    ast.ImportFrom: "remove it: I, R and T are defined already",
    ast.Lambda: "write the expression out",
    ast.ListComp: "write the elements out",
    ast.JoinedStr: "write a plain string",
    ast.Assert: "remove it, or tell the compiler with T.assume()",
}
_HONEST = (ast.JoinedStr, ast.FormattedValue, ast.Assert, ast.Starred)
"""Refused syntax that is a habit of Python and reaches nowhere by itself."""
_ESCAPES = (
    ast.Import, ast.ImportFrom, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr,
    ast.JoinedStr, ast.FormattedValue, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred, ast.Try, ast.Raise,
    ast.Global, ast.Nonlocal, ast.Delete, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Match, ast.Assert,
)  # fmt: skip


class Finding(Exception):
    """Carries a finding up to `check`, which knows the text."""

    def __init__(self, node: ast.AST | None, what: str, *, hack: bool = False) -> None:
        super().__init__(what)
        self.line = getattr(node, "lineno", 1)
        self.what = what
        self.hack = hack


def is_docstring(node: ast.stmt) -> bool:
    """Whether the statement is nothing but a string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def dotted_name(node: ast.AST) -> str | None:
    """`T.axis.remap` for such an attribute chain on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def refuse_escape(node: ast.AST) -> None:
    """Raise Finding for syntax that runs Python code or hides it: imports, lambdas, comprehensions, f-strings, ..."""
    if isinstance(node, _ESCAPES):
        kind = type(node).__name__
        honest = isinstance(node, _HONEST) or _is_honest_import(node)
        advice = _ADVICE.get(type(node), "")
        what = f"{kind} is not part of the program language" + (f"; {advice}" if advice else "")
        raise Finding(node, what, hack=not honest)


def _is_honest_import(node: ast.AST) -> bool:
    """Whether an import names only what TVMScript files usually import; it is refused, but is no attack."""
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    else:
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [""]
    return all(module.partition(".")[0] in names.HONEST_MODULES for module in modules)


def is_script_import(node: ast.stmt) -> bool:
    """`from tvm.script import ir as I, relax as R, tirx as T`, or a part of it, which changes nothing."""
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "tvm.script"
        and node.level == 0
        and all((alias.name, alias.asname) in names.SCRIPT_IMPORTS for alias in node.names)
    )


def check_name(name: str, node: ast.AST) -> None:
    """Raise Finding if a program may not bind `name`."""
    if name.startswith("__"):
        raise Finding(node, f"the name {name} is reserved", hack=True)
    if name in names.RESERVED or not name.isascii():
        raise Finding(node, f"the name {name} is reserved; choose another")
    if name in names.BUILTINS:
        raise Finding(node, f"{name} is the name of a Python builtin; choose another")


def indexes_by_string(node: ast.AST) -> bool:
    """Whether a string stands in an index, outside of the calls in it, whose arguments are checked as such
    (`x[T.cast(i, "int64")]` indexes by a number)."""
    if isinstance(node, ast.Call):
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return any(indexes_by_string(child) for child in ast.iter_child_nodes(node))


def has_string(node: ast.AST) -> bool:
    """Whether a string stands anywhere in the expression."""
    return any(
        isinstance(child, ast.Constant) and isinstance(child.value, str | bytes) for child in ast.walk(node)
    )
