"""Bounds on the size of a program text, so that reading it costs little and folding its constants costs nothing."""

from __future__ import annotations

import ast
import re
from collections import deque

MAX_CHARACTERS = 500_000
MAX_NODES = 150_000
MAX_DEPTH = 200
MAX_ELEMENTS = 256
"""Longest list, tuple, dict or argument list. Weights are parameters, never literals."""
MAX_BITS = 64
"""Widest integer that arithmetic on literals may produce."""


MAX_TOKENS = 60_000
"""Words and signs outside of strings and comments: Python's parser takes time and memory for each."""

_TOKENS = re.compile(
    r"""\#[^\n]*+
    |(?P<prefix>(?<!\w)[A-Za-z]{0,3})(?:
        \"\"\"(?:[^"\\]++|\\.|"(?!""))*+(?:\"\"\")?
        |\'\'\'(?:[^'\\]++|\\.|'(?!''))*+(?:\'\'\')?
        |"(?:[^"\\\n]++|\\.)*+"?
        |'(?:[^'\\\n]++|\\.)*+'?)
    |\w++|[^\w\s]""",
    re.VERBOSE | re.DOTALL,
)
"""Comments, strings with their prefix, words and signs; always matches, so that it takes linear time."""


class LimitExceeded(Exception):
    """The text is too large in one respect; `line` counts from 1."""

    def __init__(self, node: ast.AST | None, what: str, line: int = 1) -> None:
        super().__init__(what)
        self.line = getattr(node, "lineno", line)
        self.what = what


def check_tokens(text: str) -> None:
    """Raise LimitExceeded, before Python parses `text`, for an f-string or too many tokens.

    An f-string holds expressions, which Python's parser copies and nests at a cost far above their length.
    """
    for count, token in enumerate(_TOKENS.finditer(text)):
        prefix = token["prefix"]
        if prefix and "f" in prefix.lower():
            line = text.count("\n", 0, token.start()) + 1
            raise LimitExceeded(
                None, "f-strings are not part of the program language; write a plain string", line
            )
        if count > MAX_TOKENS:
            line = text.count("\n", 0, token.start()) + 1
            raise LimitExceeded(None, f"the program has more than {MAX_TOKENS} words and signs", line)


def check_limits(tree: ast.AST) -> None:
    """Raise LimitExceeded for a tree that is too large, too deep, or whose literals fold into something huge."""
    pending: deque[tuple[ast.AST, int, ast.AST]] = deque([(tree, 0, tree)])
    count = 0
    while pending:
        node, depth, located = pending.pop()
        located = node if hasattr(node, "lineno") else located
        count += 1
        if count > MAX_NODES:
            raise LimitExceeded(located, f"the program has more than {MAX_NODES} syntax nodes")
        if depth > MAX_DEPTH:
            raise LimitExceeded(located, f"the program nests deeper than {MAX_DEPTH} levels")
        _check_sequence(node)
        if isinstance(node, ast.BinOp | ast.Constant):
            _check_arithmetic(node)
        pending.extend((child, depth + 1, located) for child in ast.iter_child_nodes(node))


def _check_sequence(node: ast.AST) -> None:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        length = len(node.elts)
    elif isinstance(node, ast.Dict):
        length = len(node.keys)
    else:
        return
    if length > MAX_ELEMENTS:
        raise LimitExceeded(
            node, f"a literal with {length} elements; {MAX_ELEMENTS} are allowed. Pass data as parameters"
        )


def _check_arithmetic(node: ast.BinOp | ast.Constant) -> None:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and node.value.bit_length() > MAX_BITS:
            raise LimitExceeded(node, "an integer that does not fit 64 bits")
        return
    if isinstance(node.op, ast.Pow):
        _check_power(node)
    elif isinstance(node.op, ast.LShift):
        distance = node.right.value if isinstance(node.right, ast.Constant) else None
        literal = isinstance(distance, int) and 0 <= distance <= MAX_BITS
        if not literal:
            raise LimitExceeded(node, "shift left by a literal of at most 64")


def _check_power(node: ast.BinOp) -> None:
    """`x ** n` multiplies the width of x by n, so n must be a small literal and x no power itself."""
    exponent = node.right
    if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
        exponent = exponent.operand
    value = exponent.value if isinstance(exponent, ast.Constant) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or value > MAX_BITS:
        raise LimitExceeded(node, "the exponent of ** must be a literal of at most 64; use T.pow otherwise")
    if any(isinstance(child, ast.BinOp) and isinstance(child.op, ast.Pow) for child in ast.walk(node.left)):
        raise LimitExceeded(node, "a power of a power; write the number out")
