"""Every load and store of a kernel in program order, each with the loops and conditions around it.

This is what the static checks on memory share. It reads the kernel as it was written, before any pass.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm.ir import Call, Expr, Range, TensorLoad, Var
from tvm.sym import Analyzer
from tvm.tirx import And, IfThenElse, IntImm, Not, Or, PrimFunc, is_buffer_var

_REDUCE = 2
"""`kCommReduce` of TVM's IterVarType."""
_LEAVES_LOOP = ("tirx.break_loop", "tirx.continue_loop")
_OPERANDS = ("a", "b", "condition", "true_value", "false_value", "value", "base", "stride", "body")
_OPERAND_LISTS = ("args", "indices", "vectors")


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop. `first` and `last` are the values of its variable where they are constant; `last < first`
    if it never runs. A `while` has no variable."""

    var: Var | None
    minimum: Any = None
    extent: Any = None
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, eq=False)
class Binding:
    """A variable that stands for an expression: a block's axis, or a `let`."""

    var: Var
    value: Expr


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition that holds where an access runs; None for one that cannot be written down.

    `reads` are the buffers, traced to their owners, that deciding it loads from.
    """

    condition: Expr | None
    reads: tuple[Var, ...] = ()


@dataclass(frozen=True, eq=False)
class Access:
    """One load or store. `root` is the buffer that owns the memory; `flat` tells whether offsets in `buffer`
    are offsets in `root`. `line` counts from 1 and is None where TVM kept no place."""

    node: Any
    buffer: Var
    root: Var
    flat: bool
    is_store: bool
    indices: tuple[Expr, ...]
    scope: tuple[Loop | Binding, ...]
    guards: tuple[Guard, ...]
    line: int | None

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around the access, outermost first."""
        return tuple(item for item in self.scope if isinstance(item, Loop))


def accesses(function: PrimFunc) -> list[Access]:
    """All accesses of `function`, in program order; a block's init comes before its body."""
    walk = _Walk()
    walk.visit(function.body)
    return walk.found


def negation(condition: Expr) -> Expr:
    """The opposite of a condition, with double negation taken away."""
    return condition.a if isinstance(condition, Not) else Not(condition)


class _Walk:
    """Walks statements and expressions in the order in which they run; one rule for each kind of node."""

    def __init__(self) -> None:
        self.found: list[Access] = []
        self._scope: list[Loop | Binding] = []
        self._guards: list[Guard] = []
        self._views: dict[Var, tuple[Var, bool]] = {}
        self._regions: dict[Var, Any] = {}
        self._reads: dict[Var, tuple[Var, ...]] = {}
        self._line: int | None = None

    def visit(self, node: Any) -> None:
        """Record the accesses of a statement or an expression and of everything in it."""
        rule = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rule is not None:
            rule(node)
            return
        for name in _OPERANDS:
            child = getattr(node, name, None)
            if child is not None and hasattr(child, "span"):
                self.visit(child)
        for name in _OPERAND_LISTS:
            for child in getattr(node, name, None) or ():
                self.visit(child)

    @contextlib.contextmanager
    def _inside(self, *items: Loop | Binding | Guard) -> Iterator[None]:
        scope, guards = len(self._scope), len(self._guards)
        for item in items:
            (self._guards if isinstance(item, Guard) else self._scope).append(item)  # pyright: ignore[reportArgumentType]
        yield
        del self._scope[scope:], self._guards[guards:]

    def _when(self, condition: Expr) -> list[Guard]:
        """`condition` as one guard for each of its conjuncts, without the hint `T.likely`."""
        while isinstance(condition, Call) and str(condition.op.name) == "prim.likely":
            condition = condition.args[0]
        if isinstance(condition, And):
            return [*self._when(condition.a), *self._when(condition.b)]
        if isinstance(condition, Not) and isinstance(condition.a, Or):
            return [*self._when(negation(condition.a.a)), *self._when(negation(condition.a.b))]
        return [Guard(condition, self._loaded(condition))]

    def _unless(self, condition: Expr) -> list[Guard]:
        while isinstance(condition, Call) and str(condition.op.name) == "prim.likely":
            condition = condition.args[0]
        return self._when(negation(condition))

    def _loaded(self, expression: Expr) -> tuple[Var, ...]:
        loads: list[Var] = []
        tvm_ffi.structural_walk(
            expression,
            [
                (TensorLoad, lambda load: loads.append(self._root(load.source)[0])),
                (Var, lambda var: loads.extend(self._reads.get(var, ()))),
            ],
        )
        return tuple(loads)

    def _root(self, buffer: Var) -> tuple[Var, bool]:
        return self._views.get(buffer, (buffer, True))

    def _record(self, node: Any, buffer: Var, is_store: bool) -> None:
        indices = list(node.indices)
        while (source := self._regions.get(buffer)) is not None and len(source.region) == len(indices):
            indices = [part.min + index for part, index in zip(source.region, indices, strict=True)]
            buffer = source.source
        root, flat = self._root(buffer)
        scope, guards = tuple(self._scope), tuple(self._guards)
        access = Access(node, buffer, root, flat, is_store, tuple(indices), scope, guards, self._line)
        self.found.append(access)

    # Statements

    def _for(self, node: Any) -> None:
        self.visit(node.min)
        self.visit(node.extent)
        items: list[Loop | Guard] = [_loop(node)]
        if _leaves(node.body, _LEAVES_LOOP[:1]):
            items.append(Guard(None))
        with self._inside(*items):
            self.visit(node.body)

    def _while(self, node: Any) -> None:
        with self._inside(Loop(None)):
            self.visit(node.condition)
            with self._inside(*self._when(node.condition)):
                self.visit(node.body)

    def _seqstmt(self, node: Any) -> None:
        with self._inside():
            for statement in node.seq:
                self.visit(statement)
                if not _leaves(statement, _LEAVES_LOOP):
                    continue
                simple = isinstance(statement, IfThenElse) and not statement.else_case
                jump = simple and type(statement.then_case).__name__ == "Evaluate"
                self._guards.extend(self._unless(statement.condition) if jump else [Guard(None)])

    def _ifthenelse(self, node: Any) -> None:
        self.visit(node.condition)
        start = len(self.found)
        chosen = self._when(node.condition)
        with self._inside(*chosen):
            self.visit(node.then_case)
        middle = len(self.found)
        if node.else_case is None:
            return
        with self._inside(*self._unless(node.condition)):
            self.visit(node.else_case)
        self._join(self.found[start:middle], self.found[middle:], len(chosen))

    def _join(self, first: list[Access], second: list[Access], conditions: int) -> None:
        """What both branches of a condition store to is stored to whatever the condition says."""
        other = {access.root for access in second if access.is_store}
        outer = len(self._guards)
        for access in first:
            if access.is_store and access.root in other:
                inner = access.guards[outer + conditions :]
                self.found.append(dataclasses.replace(access, guards=(*self._guards, *inner)))

    def _bind(self, node: Any) -> None:
        self.visit(node.value)
        self._reads[node.var] = self._loaded(node.value)
        self._scope.append(Binding(node.var, node.value))

    def _declbuffer(self, node: Any) -> None:
        owner = viewed(node.data)
        if owner is not None:
            root, flat = self._root(owner)
            offset = node.buffer.ty.elem_offset
            starts = isinstance(offset, IntImm) and int(offset) == 0
            self._views[node.buffer] = (root, flat and starts)

    def _bufferstore(self, node: Any) -> None:
        span = getattr(node, "span", None)
        self._line = int(span.line) if span is not None else None
        for child in (node.value, *node.indices):
            self.visit(child)
        self._record(node, node.buffer, True)

    def _attrstmt(self, node: Any) -> None:
        axis = getattr(node.node, "var", None)
        self.visit(node.value)
        extent = node.value
        loops = []
        if isinstance(axis, Var) and isinstance(extent, IntImm):
            loops.append(Loop(axis, IntImm("int32", 0), extent, 0, int(extent) - 1))
        with self._inside(*loops):
            self.visit(node.body)

    def _sblockrealize(self, node: Any) -> None:
        for value in node.iter_values:
            self.visit(value)
        self.visit(node.predicate)
        trivial = isinstance(node.predicate, IntImm)
        axes = [
            Binding(axis.var, value)
            for axis, value in zip(node.block.iter_vars, node.iter_values, strict=True)
        ]
        with self._inside(*axes, *([] if trivial else self._when(node.predicate))):
            self._sblock(node.block)

    def _sblock(self, block: Any) -> None:
        for match in block.match_buffers:
            self._regions[match.buffer] = match.source
            self._views[match.buffer] = (self._root(match.source.source)[0], False)
        if block.init is not None:
            firsts = [
                guard
                for axis in block.iter_vars
                if axis.iter_type == _REDUCE
                for guard in self._when(axis.var.equal(axis.dom.min))
            ]
            with self._inside(*firsts):
                self.visit(block.init)
        self.visit(block.body)

    # Expressions

    def _tensorload(self, node: Any) -> None:
        if getattr(node, "span", None) is not None:
            self._line = int(node.span.line)
        for index in node.indices:
            self.visit(index)
        self._record(node, node.source, False)

    def _and(self, node: Any) -> None:
        self.visit(node.a)
        with self._inside(*self._when(node.a)):
            self.visit(node.b)

    def _or(self, node: Any) -> None:
        self.visit(node.a)
        with self._inside(*self._unless(node.a)):
            self.visit(node.b)

    def _select(self, node: Any) -> None:
        self._choice(node.condition, node.true_value, node.false_value)

    def _call(self, node: Any) -> None:
        if str(getattr(node.op, "name", "")) == "prim.if_then_else":
            self._choice(*node.args)
            return
        for argument in node.args:
            self.visit(argument)

    def _choice(self, condition: Expr, chosen: Expr, other: Expr) -> None:
        self.visit(condition)
        with self._inside(*self._when(condition)):
            self.visit(chosen)
        with self._inside(*self._unless(condition)):
            self.visit(other)

    def _let(self, node: Any) -> None:
        with self._inside():
            self._bind(node)
            self.visit(node.body)


def viewed(data: Any) -> Var | None:
    """The buffer whose memory `data` is, if it is exactly `buffer.data`."""
    if isinstance(data, Call) and str(getattr(data.op, "name", "")) == "tirx.buffer_data":
        owner = data.args[0]
        return owner if isinstance(owner, Var) and is_buffer_var(owner) else None
    return None


def _loop(node: Any) -> Loop:
    first = int(node.min) if isinstance(node.min, IntImm) else None
    step = 1 if node.step is None else int(node.step) if isinstance(node.step, IntImm) else None
    last = None
    if first is not None and step and isinstance(node.extent, IntImm):
        last = first + (-(-int(node.extent) // step) - 1) * step
    return Loop(node.loop_var, node.min, node.extent, first, last)


def _leaves(statement: Any, jumps: tuple[str, ...]) -> bool:
    """Whether the statement may end the loop around it, or one turn of it."""
    found: list[bool] = []
    tvm_ffi.structural_walk(
        statement, (Call, lambda call: found.append(str(getattr(call.op, "name", "")) in jumps))
    )
    return any(found)


def first_turn(access: Access) -> tuple[Loop, ...]:
    """All loops around the access that have a variable."""
    return tuple(loop for loop in access.loops if loop.var is not None)


def common_loops(one: Access, other: Access) -> tuple[Loop, ...]:
    """Loops around both accesses, outermost first."""
    common = []
    for left, right in zip(one.loops, other.loops, strict=False):
        if left is not right:
            break
        common.append(left)
    return tuple(common)


def analyzer(access: Access, values: dict[Loop, int] | None = None, *, ranges: bool = True) -> Analyzer:
    """TVM's arithmetic with what is known where the access runs, except for its guards.

    A loop in `values` is at that value; the other variables take their ranges, or none without `ranges`.
    """
    known = Analyzer()
    for item in access.scope:
        if isinstance(item, Binding):
            if is_index(item.value):
                known.bind(item.var, item.value)
        elif item.var is not None and values is not None and item in values:
            known.bind(item.var, IntImm(str(item.var.ty.dtype), values[item]))
        elif item.var is not None and ranges:
            known.bind(item.var, _range(item))
    return known


def is_index(expression: Expr) -> bool:
    """Whether the expression is one integer, such as arithmetic on indices is about."""
    return str(getattr(expression.ty, "dtype", "")) in ("int32", "int64")


def _range(loop: Loop) -> Range:
    if loop.first is not None and loop.last is not None and loop.last >= loop.first:
        kind = str(loop.var.ty.dtype)  # pyright: ignore[reportOptionalMemberAccess]
        return Range.from_min_extent(IntImm(kind, loop.first), IntImm(kind, loop.last - loop.first + 1))
    return Range.from_min_extent(loop.minimum, loop.extent)
