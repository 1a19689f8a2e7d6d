"""The guard's rules for expressions: one rule a kind of syntax node, everything else refused."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable

from edgelab.kernel import guard_names as names
from edgelab.kernel.guard_syntax import Finding, dotted_name, has_string, indexes_by_string, refuse_escape

_STRING = re.compile(r"[\w .,:+\-*/=>@\[\]()]{0,200}", re.ASCII)


class ExpressionCheck:
    """Checks one expression, top down; every kind of node has its own rule and all others are refused."""

    def __init__(self, module: str, functions: set[str], bound: set[str]) -> None:
        self.module = module
        self.functions = functions
        self.bound = bound

    def visit(self, node: ast.AST) -> None:
        """Raise Finding unless the expression and everything in it is allowed."""
        refuse_escape(node)
        rule = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rule is None:
            raise Finding(node, f"{type(node).__name__} is not part of the program language", hack=True)
        rule(node)

    def _visit_all(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            self.visit(node)

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            if not _STRING.fullmatch(node.value) or "__" in node.value:
                raise Finding(
                    node,
                    f"the string {node.value[:40]!r} holds characters that no attribute needs",
                    hack="__" in node.value,
                )
        elif not isinstance(node.value, bool | int | float | None):
            raise Finding(node, f"a constant of the type {type(node.value).__name__} is not allowed")

    def _name(self, node: ast.Name) -> None:
        if node.id in ("T", "R", "I"):
            raise Finding(node, f"{node.id} must be followed by one of its functions", hack=True)
        if node.id not in self.bound:
            habit = node.id in names.MODULE_ALIASES | names.HARMLESS_BUILTINS
            builtin = node.id in names.RESERVED | names.BUILTINS
            escape = node.id.startswith("_") or (builtin and not habit)
            raise Finding(node, f"the name {node.id} is not defined here", hack=escape)

    def _attribute(self, node: ast.Attribute) -> None:
        dotted = dotted_name(node)
        if dotted and dotted.split(".")[0] in ("T", "R", "I"):
            known = dotted in names.FUNCTIONS
            what = f"{dotted} must be called" if known else f"{dotted} is not in the program language"
            raise Finding(node, what, hack=not known)
        if dotted and dotted.split(".")[0] in ("cls", self.module):
            self._check_function(node, dotted)
            return
        if node.attr not in names.LOCAL_ATTRIBUTES:
            advice = _module_advice(dotted)
            if advice is not None:
                raise Finding(node, advice)
            raise Finding(node, f"the attribute .{node.attr} is not allowed", hack=self._is_walk(node))
        self.visit(node.value)

    def _is_walk(self, node: ast.Attribute) -> bool:
        """Whether an attribute reaches for Python: a private name, or one of something that is no local."""
        root = (dotted_name(node) or "").partition(".")[0]
        return node.attr.startswith("_") or (bool(root) and root not in self.bound)

    def _check_function(self, node: ast.AST, dotted: str) -> None:
        name = dotted.partition(".")[2]
        if name not in self.functions:
            escape = name.startswith("_") or "." in name
            raise Finding(node, f"{dotted} is not a function that can be used here", hack=escape)

    def _call(self, node: ast.Call) -> None:
        dotted = dotted_name(node.func)
        if dotted in names.FUNCTIONS:
            self._check_arguments(dotted, node)
        elif dotted and dotted.split(".")[0] in ("cls", self.module):
            self._check_function(node, dotted)
        elif dotted in names.PYTHON_CALLS:
            pass
        elif isinstance(node.func, ast.Attribute) and node.func.attr in names.LOCAL_METHODS:
            self.visit(node.func.value)
        elif isinstance(node.func, ast.Attribute) and dotted and dotted.split(".")[0] in self.bound:
            raise Finding(
                node, f"the method .{node.func.attr}() is not allowed", hack=self._is_walk(node.func)
            )
        else:
            raise _refused_call(node, dotted)
        self._visit_all(node.args)
        for keyword in node.keywords:
            if keyword.arg in names.RENAMED_ARGUMENTS:
                raise Finding(node, f"{keyword.arg}= is now {names.RENAMED_ARGUMENTS[keyword.arg]}=")
            if keyword.arg is None or keyword.arg.startswith("_"):
                raise Finding(node, "keyword arguments are written out one by one", hack=True)
            self.visit(keyword.value)

    def _check_arguments(self, dotted: str, node: ast.Call) -> None:
        """Rules on strings that some function evaluates, looks up or passes on as a name."""
        if dotted in ("R.Tensor", "R.Shape", "R.Prim", "T.Buffer"):
            _check_shape(dotted, node)
        elif dotted in ("T.reinterpret", "T.cast", "T.Cast", "T.handle"):
            if dotted == "T.handle" or _names_handle(node):
                raise Finding(node, "numbers and addresses are not converted into each other", hack=True)
        elif dotted == "T.call_pure_extern":
            self._check_symbol(node, lambda name: name in names.EXTERN_FUNCTIONS)
        elif dotted in ("T.call_llvm_intrin", "T.call_llvm_pure_intrin"):
            self._check_symbol(node, lambda name: names.LLVM_INTRINSIC.fullmatch(name) is not None)
        elif dotted == "T.attr":
            key, value = node.args[1:] if len(node.args) == 3 else (None, node)
            _check_key(key, value)

    def _check_symbol(self, node: ast.Call, allowed: Callable[[str], bool]) -> None:
        """The second argument must be a literal on a list of pure functions.

        Keyword arguments are refused: TVM moves `dtype=` to the front, which would shift the name.
        """
        symbol = node.args[1] if len(node.args) > 1 else None
        name = symbol.value if isinstance(symbol, ast.Constant) else None
        if not isinstance(name, str) or node.keywords or not allowed(name):
            what = f"the external function {name!r} is not on the list of pure functions"
            raise Finding(node, what, hack=True)

    def _subscript(self, node: ast.Subscript) -> None:
        base = node.value
        if isinstance(base, ast.Name) and base.id not in self.bound:
            raise Finding(node, f"{base.id}[...] is not a local tensor or tuple", hack=True)
        if not isinstance(base, ast.Name | ast.Attribute | ast.Subscript) or indexes_by_string(node.slice):
            raise Finding(node, "only a local tensor or tuple can be indexed, and only by numbers", hack=True)
        self.visit(base)
        self.visit(node.slice)

    def _slice(self, node: ast.Slice) -> None:
        self._visit_all([part for part in (node.lower, node.upper, node.step) if part is not None])

    def _tuple(self, node: ast.Tuple | ast.List) -> None:
        self._visit_all(node.elts)

    _list = _tuple

    def _dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            _check_key(key, value)
        self._visit_all(node.values)

    def _binop(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.MatMult):
            raise Finding(node, "the operator @ is not part of the program language")
        self._operands([node.left, node.right])

    def _unaryop(self, node: ast.UnaryOp) -> None:
        self._operands([node.operand])

    def _compare(self, node: ast.Compare) -> None:
        for operator in node.ops:
            if isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn):
                raise Finding(node, "compare with ==, !=, <, <=, > or >=")
        self._operands([node.left, *node.comparators])

    def _boolop(self, node: ast.BoolOp) -> None:
        self._operands(node.values)

    def _operands(self, nodes: list[ast.expr]) -> None:
        for node in nodes:
            sequence = isinstance(node, ast.List | ast.Tuple | ast.Dict)
            if sequence or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                raise Finding(node, "operators work on numbers, not on strings or lists")
            self.visit(node)

    def _ifexp(self, node: ast.IfExp) -> None:
        self._visit_all([node.test, node.body, node.orelse])


def _check_shape(dotted: str, node: ast.Call) -> None:
    """No string stands in a shape or a value, because TVM evaluates it; `R.Tensor("float32")` is a dtype."""
    first = node.args[:1]
    text = first[0].value if first and isinstance(first[0], ast.Constant) else None
    if dotted in ("R.Tensor", "R.Prim") and isinstance(text, str) and names.DTYPE.fullmatch(text):
        first = []
    named = [keyword.value for keyword in node.keywords if keyword.arg in ("shape", "values", "value")]
    if any(has_string(shape) for shape in first + named):
        raise Finding(node, "shapes are numbers; a string would be evaluated as Python", hack=True)


def _names_handle(node: ast.Call) -> bool:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(isinstance(value, ast.Constant) and "handle" in str(value.value) for value in values) or any(
        dotted_name(value) == "T.handle" for value in values
    )


def _module_advice(dotted: str | None) -> str | None:
    """What to write instead of `tir.exp` or `math.pi`; None where more is reached than a function of TVMScript."""
    root, _, rest = (dotted or "").partition(".")
    last = rest.rpartition(".")[2]
    if root not in names.MODULE_ALIASES or not last or last.startswith("_"):
        return None
    for dialect in "TR":
        if f"{dialect}.{last}" in names.FUNCTIONS:
            return f"{dotted} is not in the program language; use {dialect}.{last}"
    plain = root in ("math", "np", "numpy") and rest == last and last in names.NUMBER_NAMES
    return f"{dotted} is not in the program language; write the number out" if plain else None


def _nearest(dotted: str) -> str | None:
    """The function that was most likely meant: the other dialect's of the same name, or a typing error away."""
    if (same := f"T.{dotted[2:]}") in names.FUNCTIONS:
        return same
    return next(iter(difflib.get_close_matches(dotted, names.FUNCTIONS, n=1, cutoff=0.8)), None)


def _refused_call(node: ast.Call, dotted: str | None) -> Finding:
    what = dotted or ast.unparse(node.func)[:60]
    advice = _module_advice(dotted)
    if advice is not None:
        return Finding(node, advice)
    if dotted in names.RENAMED:
        symbol = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else None
        hack = dotted == "T.call_extern" and symbol not in names.EXTERN_FUNCTIONS
        return Finding(
            node, f"{what} is not in the program language; write {names.RENAMED[dotted]}", hack=hack
        )
    if dotted and re.fullmatch(r"[TRI]\.[A-Za-z_.0-9]+", dotted):
        near = _nearest(dotted)
        said = f"{what} is not in the program language" + (f"; nearest: {near}" if near else "")
        return Finding(node, said, hack=near is None and _smells(dotted))
    if dotted and "." not in dotted and f"T.{dotted}" in names.FUNCTIONS:
        return Finding(node, f"{what}() is Python's; use T.{dotted}()")
    return Finding(
        node, f"{what}() is not in the program language", hack=dotted not in names.HARMLESS_BUILTINS
    )


def _smells(dotted: str) -> bool:
    """Whether a TVM function that is not allowed can reach code outside the program."""
    return (
        dotted.count(".") > 1
        or re.search(r"packed|extern|call_|kernel|import|py|emit|address|access_ptr|_\b", dotted) is not None
    )


def _check_key(key: ast.expr | None, value: ast.AST) -> None:
    """Any attribute may hold numbers; one that holds a string, which TVM may look up or compile, is listed."""
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        raise Finding(value, "an attribute's key is a plain string")
    if key.value not in names.STRING_ATTRIBUTES and (has_string(value) or "import" in key.value):
        raise Finding(value, f"the attribute {key.value[:60]!r} may not hold a string", hack=True)
    if key.value == "global_symbol":
        symbol = value.value if isinstance(value, ast.Constant) else None
        if not isinstance(symbol, str) or not names.SYMBOL.fullmatch(symbol):
            raise Finding(value, "global_symbol is a plain name of letters, digits and _")
