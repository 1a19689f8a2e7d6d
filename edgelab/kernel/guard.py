"""Admits program text before any TVMScript parser sees it.

TVM's parser evaluates the Python expressions of the text it reads, so a text is code. The guard reads only the
syntax tree and admits what is on the lists of `guard_names`. It is one layer: parsing still happens in a
disposable child without a network, and what the program computes is still confined on the device.
"""

from __future__ import annotations

import ast
import warnings

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import guard_names as names
from edgelab.kernel.diagnostics import located
from edgelab.kernel.guard_expressions import ExpressionCheck
from edgelab.kernel.guard_limits import MAX_CHARACTERS, LimitExceeded, check_limits, check_tokens
from edgelab.kernel.guard_syntax import (
    Finding,
    check_name,
    dotted_name,
    is_docstring,
    is_script_import,
    refuse_escape,
)

_FUNCTION_DECORATORS = {
    "T.prim_func": {"private", "check_well_formed", "s_tir"},
    "R.function": {"pure", "private"},
}
_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.For, ast.While, ast.With, ast.If, ast.Expr, ast.Pass,
    ast.Break, ast.Continue,
)  # fmt: skip


_BYTE_ORDER_MARK = "\ufeff"


class GuardRefusal(EvaluationFailure):
    """The guard refused a text; `line` (from 1) is where and `what` is why.

    The failure class is `hack` where the text reaches for Python or the machine, else `syntax_api`.
    """

    def __init__(self, line: int, what: str, *, hack: bool = False, text: str = "") -> None:
        super().__init__(FailureClass.HACK if hack else FailureClass.SYNTAX_API, located(text, line, what))
        self.line = line
        self.what = what


def check(text: str) -> None:
    """Raise GuardRefusal unless `text` is one TVMScript module that only uses what the lists allow.

    Nothing in the text is executed, and neither time nor memory depends on more than its length.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        if len(text) > MAX_CHARACTERS:
            raise Finding(None, f"the text has {len(text)} characters; {MAX_CHARACTERS} are allowed")
        check_tokens(text)
        tree = _parse(text)
        check_limits(tree)
        _refuse_dunder_names(tree)
        _check_module(tree)
    except (Finding, LimitExceeded) as found:
        hack = isinstance(found, Finding) and found.hack
        raise GuardRefusal(found.line, found.what, hack=hack, text=text) from None


def without_preamble(text: str) -> str:
    """What TVM's parser is to see of a text that `check` admits: the module class, on its own lines.

    Byte order mark, docstring and imports of I, R and T are left out, and `@I.ir_module()` loses its brackets.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    lines = ast_lines(text)
    for node in _parse(text).body:
        if not isinstance(node, ast.ClassDef):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            if isinstance(decorator, ast.Call) and decorator.end_lineno:
                count = decorator.end_lineno - decorator.lineno + 1
                lines[decorator.lineno - 1 : decorator.end_lineno] = ["@I.ir_module", *[""] * (count - 1)]
    return "\n".join(lines)


def ast_lines(text: str) -> list[str]:
    """Lines as Python counts them, unlike `str.splitlines`, which also splits at form feeds and the like."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _parse(text: str) -> ast.Module:
    try:
        text.encode("utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        found = Finding(None, f"syntax error: {error.msg} (column {error.offset or 1})")
        found.line = error.lineno or 1
    except (ValueError, RecursionError, MemoryError, SystemError) as error:
        found = Finding(None, f"the text cannot be parsed: {str(error) or 'nested too deeply'}")
    raise found


def _refuse_dunder_names(tree: ast.Module) -> None:
    """Python's private names are a sign of an attempt to escape, wherever in the text they stand."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("__"):
            main = name == "__name__" and isinstance(node, ast.Name)
            what = "; remove the code for running the file" if main else ""
            raise Finding(node, f"the name {name} is not in the program language{what}", hack=not main)


def _check_module(tree: ast.Module) -> None:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for position, node in enumerate(tree.body):
        if is_script_import(node) or (position == 0 and is_docstring(node)):
            continue
        refuse_escape(node)
        if not isinstance(node, ast.ClassDef):
            raise Finding(node, "only one class, the module, is allowed at the top level")
    if len(classes) != 1:
        raise Finding(classes[1] if classes else tree, "the text must be exactly one class, the module")
    module = classes[0]
    if module.bases or module.keywords or getattr(module, "type_params", None):
        raise Finding(module, "the module class takes no bases and no arguments", hack=True)
    if [_plain_decorator(decorator) for decorator in module.decorator_list] != ["I.ir_module"]:
        raise Finding(module, "the module class needs the decorator @I.ir_module and no other")
    check_name(module.name, module)
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    for node in module.body:
        refuse_escape(node)
        if isinstance(node, ast.FunctionDef):
            _FunctionCheck(module.name, functions, node).run()
        elif not is_docstring(node):
            _check_module_attributes(node, module.name)


def _plain_decorator(node: ast.expr) -> str | None:
    """The decorator's name; `@I.ir_module()` is `@I.ir_module`."""
    called = isinstance(node, ast.Call) and not node.args and not node.keywords
    return dotted_name(node.func if called else node)  # pyright: ignore[reportAttributeAccessIssue]


def _check_module_attributes(node: ast.stmt, module: str) -> None:
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and dotted_name(call.func) == "I.module_attrs"):
        raise Finding(node, "the module class holds functions only")
    ExpressionCheck(module, set(), set()).visit(call)


class _FunctionCheck:
    """Checks one function: its signature first, then its statements with the names it binds."""

    def __init__(self, module: str, functions: set[str], function: ast.FunctionDef) -> None:
        self.function = function
        self.kind = ""
        self.schedulable = False
        bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _stores(node)}
        bound |= {argument.arg for argument in function.args.args}
        self.bound = bound
        self.module = module
        self.expressions = ExpressionCheck(module, functions, bound)
        # A name that the body binds only later would still be Python's where the signature is evaluated.
        self.signature = ExpressionCheck(module, set(), {argument.arg for argument in function.args.args})

    def run(self) -> None:
        """Raise Finding at the first thing that is not allowed."""
        function = self.function
        check_name(function.name, function)
        self._check_decorator()
        arguments = function.args
        if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
            raise Finding(function, "a function takes plain positional arguments only")
        if arguments.defaults or arguments.kw_defaults:
            raise Finding(function, "an argument has no default value", hack=True)
        if getattr(function, "type_params", None):
            raise Finding(function, "a function takes no type parameters", hack=True)
        for argument in arguments.args:
            check_name(argument.arg, argument)
            if argument.annotation is None:
                raise Finding(argument, f"argument {argument.arg} needs a type")
            self._annotation(argument.annotation, self.signature)
        if function.returns is not None:
            self._annotation(function.returns, self.signature)
        for name in self.bound:
            if name != "cls":
                check_name(name, function)
        self._check_blocks()
        for statement in function.body:
            self._statement(statement)

    def _check_decorator(self) -> None:
        function = self.function
        if len(function.decorator_list) != 1:
            raise Finding(function, f"{function.name} needs one decorator: @T.prim_func or @R.function")
        decorator = function.decorator_list[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        self.kind = dotted_name(call.func if call else decorator) or ""
        allowed = _FUNCTION_DECORATORS.get(self.kind)
        if allowed is None:
            hack = self.kind not in ("T.macro", "T.inline", "R.macro")
            what = "a function's decorator is @T.prim_func or @R.function; write what a macro does in place"
            raise Finding(decorator, what, hack=hack)
        for keyword in call.keywords if call else []:
            plain = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
            if keyword.arg not in allowed or not plain:
                raise Finding(
                    decorator, f"{self.kind} takes only {', '.join(sorted(allowed))} as True or False"
                )
            if keyword.arg == "s_tir":
                self.schedulable = bool(keyword.value.value)  # pyright: ignore[reportAttributeAccessIssue]
            if keyword.arg == "check_well_formed" and not keyword.value.value:  # pyright: ignore[reportAttributeAccessIssue]
                raise Finding(decorator, "the check for well-formed programs cannot be switched off")
        if call and call.args:
            raise Finding(decorator, f"{self.kind} takes keyword arguments only")
        if self.kind == "T.prim_func":
            # A kernel that called another one could hide what that one writes.
            self.expressions.functions = set()

    def _check_blocks(self) -> None:
        """TVM parses blocks only in kernels that say so, and its own message does not tell how."""
        if self.kind != "T.prim_func" or self.schedulable:
            return
        for node in ast.walk(self.function):
            if isinstance(node, ast.Call) and dotted_name(node.func) in ("T.sblock", "T.block"):
                renamed = "; T.block is now T.sblock" if dotted_name(node.func) == "T.block" else ""
                raise Finding(
                    node, f"a kernel with blocks needs the decorator @T.prim_func(s_tir=True){renamed}"
                )

    def _annotation(self, node: ast.expr, rules: ExpressionCheck) -> None:
        if dotted_name(node) in names.ANNOTATIONS or (isinstance(node, ast.Constant) and node.value is None):
            return
        if isinstance(node, ast.Constant):
            raise Finding(node, "an annotation is an expression, not text", hack=isinstance(node.value, str))
        if not isinstance(node, ast.Call):
            raise Finding(node, f"{ast.unparse(node)[:60]} is not a type")
        rules.visit(node)

    def _statement(self, node: ast.stmt) -> None:
        refuse_escape(node)
        if not isinstance(node, _STATEMENTS):
            raise Finding(node, f"{type(node).__name__} is not allowed inside a function", hack=True)
        if self._is_cls_alias(node):
            return
        if isinstance(node, ast.AnnAssign):
            self._target(node.target)
            self._annotation(node.annotation, self.expressions)
            children = [node.value]
        elif isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                raise Finding(node, "assign to one target at a time")
            self._target(node.targets[0])
            self._check_sequence_value(node)
            children = [node.value]
        elif isinstance(node, ast.AugAssign):
            self._target(node.target)
            children = [node.value]
        elif isinstance(node, ast.For | ast.With):
            children = self._check_header(node)
        else:
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, ast.Expr) and self.kind == "R.function" and is_docstring(node):
            raise Finding(node, "a Relax function has no docstring; write a # comment")
        for child in children:
            if child is not None and not (isinstance(node, ast.Expr) and is_docstring(node)):
                self.expressions.visit(child)
        for block in ("body", "orelse"):
            for child in getattr(node, block, []):
                self._statement(child)

    def _is_cls_alias(self, node: ast.stmt) -> bool:
        """`cls = Module`, which TVM prints at the top of a Relax function."""
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            return False
        if node.targets[0].id != "cls":
            return False
        if len(node.targets) == 1 and isinstance(node.value, ast.Name) and node.value.id == self.module:
            return True
        raise Finding(node, f"cls can only be the module: cls = {self.module}", hack=True)

    def _check_header(self, node: ast.For | ast.With) -> list[ast.expr | None]:
        """The expressions in the head of a loop or a `with`; both must be calls."""
        if isinstance(node, ast.For):
            self._target(node.target)
            if not isinstance(node.iter, ast.Call):
                raise Finding(node, "loop over range(), T.grid(), T.serial() or another loop kind")
            return [node.iter]
        for item in node.items:
            if item.optional_vars is not None:
                self._target(item.optional_vars)
            if not isinstance(item.context_expr, ast.Call):
                raise Finding(node, "`with` takes a call such as T.sblock() or R.dataflow()")
        return [item.context_expr for item in node.items]

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self._target(element)
        elif isinstance(node, ast.Subscript):
            self.expressions.visit(node)
        elif not isinstance(node, ast.Name):
            raise Finding(
                node, f"{ast.unparse(node)[:60]} cannot be assigned to", hack=isinstance(node, ast.Attribute)
            )
        elif node.id == "cls":
            raise Finding(node, f"cls can only be the module: cls = {self.module}", hack=True)

    def _check_sequence_value(self, node: ast.Assign) -> None:
        # A name that holds a Python list could be multiplied into a huge one while TVM parses the text.
        if self.kind == "T.prim_func" and isinstance(node.value, ast.List | ast.Tuple | ast.Dict):
            raise Finding(node, "a kernel cannot hold a list or a tuple in a name")


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
