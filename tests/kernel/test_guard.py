from __future__ import annotations

import ast
import builtins
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelab.errors import FailureClass
from edgelab.kernel import guard, guard_names
from edgelab.kernel.guard import GuardRefusal
from tests.support.programs import LOOP, program


def refusal(text: str) -> GuardRefusal:
    with pytest.raises(GuardRefusal) as caught:
        guard.check(text)
    return caught.value


MARKER = "edgelab_guard_was_broken"
TOUCH = f"__import__('os').system('touch {MARKER}')"

ATTACKS = {
    "call in a literal": program(f"T.float32({TOUCH})"),
    "double quotes": program(f'T.float32(__import__("os").system("touch {MARKER}"))'),
    "walk to inspect": program('T.entry.inspect.os.system("touch x")'),
    "walk through the parser": program("T.parser.core.evaluator.eval(1)"),
    "walk from I": program('I.entry.inspect.os.system("x")'),
    "relax evaluator": program(result="R.entry.tvm.runtime.load_module('x')"),
    "tvm by name": program('tvm.runtime.load_module("x.so")'),
    "builtin eval": program(f'eval("{1}")'),
    "builtin exec": program('exec("import os")'),
    "builtin open": program('open("x", "w")'),
    "builtin getattr": program('getattr(A, "data")'),
    "dunder attribute": program("A.__class__.__mro__[1].__subclasses__()"),
    "dunder of a call": program("T.exp(A[vi]).__class__"),
    "dunder of a literal": program("(1).__class__.__base__"),
    "dunder name": program("__builtins__"),
    "class decorator": program().replace("@I.ir_module\n", f"@{TOUCH}\n@I.ir_module\n"),
    "class decorator call": program().replace("@I.ir_module", f"@I.ir_module({TOUCH})"),
    "function decorator": program().replace("@R.function", f"@{TOUCH}"),
    "decorator argument": program().replace("private=True", f"private={TOUCH}"),
    "two decorators": program().replace("@R.function", f"@{TOUCH}\n    @R.function"),
    "macro decorator": program().replace("@R.function", "@R.macro"),
    "python function decorator": program().replace("@R.function", "@I.pyfunc"),
    "default argument": program().replace('C: T.Buffer((64,), "float32")', f'C: T.Buffer((64,), "float32") = {TOUCH}'),
    "keyword-only argument": program().replace("C: T.Buffer", "*, C: T.Buffer"),
    "variadic argument": program().replace("C: T.Buffer", "*C: T.Buffer"),
    "class base": program().replace("class Module:", f"class Module({TOUCH}):"),
    "class keyword": program().replace("class Module:", f"class Module(metaclass={TOUCH}):"),
    "f-string": program(f'T.float32(f"{{{TOUCH}}}")'),
    "list comprehension": program(f"[{TOUCH} for x in range(1)]"),
    "set comprehension": program("{x for x in range(1)}"),
    "dict comprehension": program("{x: x for x in range(1)}"),
    "generator": program("T.max(x for x in range(3))"),
    "lambda": program(f"(lambda: {TOUCH})()"),
    "walrus": program(f"(y := {TOUCH})"),
    "starred call": program("T.exp(*[A])"),
    "double-starred call": program("T.exp(**A)"),
        "yield": program("(yield A)"),
    "call_packed": program('T.call_packed("tvm.support.system", 1)'),
    "tvm_call_packed": program('T.tvm_call_packed("runtime.ModuleLoadFromFile", "x")'),
    "call_extern": program('T.call_extern("int32", "system", A.data)'),
    "pure extern outside the list": program('T.call_pure_extern("int32", "system", A.data)'),
    "pure extern with a shifted name": program('T.call_pure_extern("system", "expf", dtype="int32")'),
    "pure extern with a computed name": program('T.call_pure_extern("int32", A.dtype)'),
    "intrinsic by name": program('T.call_intrin("float32", "tirx.tvm_call_packed", 1)'),
    "LLVM intrinsic outside the list": program('T.call_llvm_intrin("int32", "llvm.read_register.i64", 1)'),
    "LLVM control register": program('T.call_llvm_intrin("void", "llvm.x86.sse.ldmxcsr", A.data)'),
    "raw address": program("T.address_of(A[0])"),
    "relax packed call": program(result='R.call_dps_packed("system", lv, R.Tensor((64,), "float32"))'),
    "relax Python call": program(result='R.call_py_func("system", lv, R.Tensor((64,), "float32"))'),
    "in-place call": program(result="R.call_tir_inplace(cls.scale, (in0,), [0], R.Tensor((64,)))"),
    "extern function": program(result='R.ExternFunc("system")'),
    "emit_te": program(result="R.emit_te(print, lv)"),
    "string annotation": program().replace('T.Buffer((64,), "float32"), C', f'"{TOUCH}", C'),
    "string return annotation": program().replace(
        '-> R.Tensor((64,), "float32")', f'-> "{TOUCH}"'
    ),
    "string shape": program().replace('in0: R.Tensor((64,)', f'in0: R.Tensor(("{TOUCH}",)'),
    "string shape by keyword": program().replace(
        'in0: R.Tensor((64,), "float32")', 'in0: R.Tensor(shape=("n",), dtype="float32")'
    ),
    "nested string shape": program().replace(
        '-> R.Tensor((64,), "float32")', '-> R.Tuple(R.Tensor(("print(1)",), "float32"))'
    ),
    "subscript of a name": program("T[0]"),
    "subscript of a builtin": program("open[0]"),
    "subscript with a string": program('A["x"]'),
    "subscripted annotation": program().replace("vi = T", "vi: T.let[T.int32] = T"),
    "import in a function": program(body="import os\nC[0] = A[0]"),
    "import from in a function": program(body="from os import system\nC[0] = A[0]"),
    "import at the top": "import os\n" + program(),
    "statement at the top": program() + f"\n{TOUCH}\n",
    "statement in the class": program().replace("    @R.function", f"    x = {TOUCH}\n\n    @R.function"),
    "nested function": program(body="def f():\n    pass\nC[0] = A[0]"),
    "nested class": program(body="class B:\n    pass\nC[0] = A[0]"),
    "try": program(body="try:\n    C[0] = A[0]\nexcept Exception:\n    pass"),
    "global": program(body="global T\nC[0] = A[0]"),
    "delete": program(body="del A"),
    "raise": program(body="raise SystemExit"),
    "assert": program(body=f"assert {TOUCH}"),
    "attribute assignment": program(body="A.data = C.data"),
    "rebinding T": program(body="T = A\nC[0] = T"),
    "rebinding cls": program().replace("cls = Module", "cls = in0"),
    "argument named T": program().replace("(A: T.Buffer", "(T: T.Buffer"),
    "loop over a list": program(body="for i in [1, 2]:\n    C[i] = A[i]"),
    "with a name": program(body="with A:\n    C[0] = A[0]"),
    "C source in an attribute": program(body='T.func_attr({"pragma_import_c": "int x;"})\nC[0] = A[0]'),
    "LLVM source in T.attr": program(body='with T.attr(0, "pragma_import_llvm", "x"):\n    C[0] = A[0]'),
    "LLVM source in a loop": program(
        body='for i in T.serial(64, annotations={"pragma_import_llvm": "x"}):\n    C[i] = A[i]'
    ),
    "schedule rule": program(body='T.func_attr({"schedule_rule": "some.function"})\nC[0] = A[0]'),
    "external codegen": program().replace('{"num_input": 1}', '{"Codegen": "x"}'),
    "well-formedness off": program().replace("private=True", "check_well_formed=False"),
    "kernel calling a kernel": program().replace("C[vi] = A", "cls.main(A)\n                C[vi] = A"),
    "kernel reference": program("Module.scale"),
    "function attribute": program(result="R.call_tir(cls.scale.script, (in0,))"),
    "string arithmetic": program(result='R.add(lv, "a" * 1000000000)'),
    "list repetition": program("[0] * 1000000000"),
    "tuple repetition": program("(0,) * 1000000000"),
    "list in a name": program(body="x = [0]\nC[0] = A[0]"),
    "matmul operator": program("A @ C"),
    "identity": program("A is C"),
    "bytes": program('b"x"'),
    "ellipsis": program("..."),
}  # fmt: skip


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_is_refused_with_its_line(text: str):
    error = refusal(text)
    assert 1 <= error.line <= text.count("\n") + 1
    assert f"line {error.line}: " in error.message
    assert error.failure_class in (FailureClass.HACK, FailureClass.SYNTAX_API)


BOMBS = {
    "tower of powers": program("9**9**9"),
    "chain of powers": program("T.float32(((9**9)**9)**9)"),
    "powers through int": program("int(int(9) ** 64) ** 64"),
    "computed exponent": program("9 ** int(1000000000)"),
    "negative tower": program("2 ** -(9**9)"),
    "shift": program("1 << 1000000000"),
    "computed shift": program("1 << int(1000000000)"),
    "huge integer": program("0x" + "f" * 100_000),
    "huge list": program("T.max(" + str([0] * 10_000) + ")"),
    "huge tuple": program(str(tuple([0] * 10_000))),
    "deep expression": program("(" * 90 + "1" + ")" * 90 + " + 1" * 400),
    "deep unary": program("-" * 5_000 + "1"),
    "very deep unary": program("-" * 200_000 + "1"),
    "deep brackets": program("(" * 5_000 + ")" * 5_000),
    "deep attributes": program("A" + ".data" * 5_000),
    "long text": program() + "#" * 2_000_000,
    "many nodes": program(body="\n".join(["C[0] = A[0] + A[1] + A[2]"] * 9_000)),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
@pytest.mark.timeout(10)
def test_a_bomb_is_refused_quickly(text: str):
    refusal(text)


MALFORMED = {
    "nothing": "",
    "a comment": "# nothing",
    "a function": "def f():\n    pass",
    "two classes": program() + program(),
    "no decorator": program().replace("@I.ir_module\n", ""),
    "unclosed bracket": program().replace("C[vi] =", "C[vi ="),
    "bad indent": program().replace("        return gv", "      return gv"),
    "NUL": program() + "\0",
    "lone surrogate": program() + "# \ud800",
    "tab and space mixed": program(body="if A[0] > 0:\n\tC[0] = A[0]\n        C[1] = A[1]"),
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_text_is_a_syntax_failure(text: str):
    assert refusal(text).failure_class is FailureClass.SYNTAX_API


def test_a_syntax_error_names_line_text_and_reason():
    error = refusal(program().replace("C[vi] =", "C[vi ="))
    assert error.line == 8
    assert "was never closed" in error.message
    assert "C[vi = A[vi] * T.float32(2)" in error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (program(f"T.float32({TOUCH})"), FailureClass.HACK),
        (program('T.call_extern("int32", "system", 1)'), FailureClass.HACK),
        (program("A.__class__"), FailureClass.HACK),
        ("import os\n" + program(), FailureClass.HACK),
        (program("T.gelu(A[vi])"), FailureClass.SYNTAX_API),
        (program("max(A[vi], 0)"), FailureClass.SYNTAX_API),
        (program("len(A)"), FailureClass.SYNTAX_API),
        (program("A.sum()"), FailureClass.SYNTAX_API),
        (program("A[vj]"), FailureClass.SYNTAX_API),
        (program().replace("cls.scale,", "cls.scal,"), FailureClass.SYNTAX_API),
        (program("9**9**9"), FailureClass.SYNTAX_API),
    ],
)
def test_only_reaching_for_the_machine_is_a_hack(text: str, expected: FailureClass):
    assert refusal(text).failure_class is expected


ACCEPTED = {
    "block": program(),
    "unicode comment": program() + "# schön\n",
    "class docstring": program().replace("class Module:\n", 'class Module:\n    """Scales."""\n'),
    "kernel docstring": program(body='"""Scales."""\n' + LOOP.format(value="A[vi]")),
    "plain loops": program(body="for i in range(64):\n    C[i] = A[i] * T.float32(2)"),
    "parallel vectorized": program(
        body="for i in T.parallel(8):\n    for j in T.vectorized(8):\n        C[i * 8 + j] = A[i * 8 + j]"
    ),
    "grid": program(body="for i, j in T.grid(8, 8):\n    C[i * 8 + j] = A[i * 8 + j]"),
    "unroll": program(body="for i in T.unroll(64):\n    C[i] = A[i]"),
    "thread binding": program(
        body='for i in T.thread_binding(64, thread="threadIdx.x"):\n    C[i] = A[i]'
    ),
    "launch thread": program(body='with T.launch_thread("threadIdx.x", 64) as tx:\n    C[tx] = A[tx]'),
    "buffers": program(
        body='B = T.alloc_buffer((64,), "float32")\nD = T.sblock_alloc_buffer((64,), scope="local")\n'
        'B[0] = A[0]\nD[0] = B[0]\nC[0] = D[0]'
    ),
    "local scalar": program(body="for i in range(64):\n    x: T.float32 = A[i]\n    C[i] = x * x"),
    "augmented store": program(body="for i in range(64):\n    C[i] += A[i]"),
    "conditions": program(
        body="for i in range(64):\n    if i < 3 and i != 1:\n        C[i] = A[i]\n    else:\n        C[i] = -A[i]"
    ),
    "while": program(
        body='n = T.alloc_buffer((1,), "int32")\nn[0] = 0\nwhile n[0] < 64:\n    C[n[0]] = A[n[0]]\n'
        "    n[0] = n[0] + 1"
    ),
    "select": program("T.Select(A[vi] > T.float32(0), A[vi], T.float32(0))"),
    "if-then-else": program("T.if_then_else(vi < 32, A[vi], T.float32(0))"),
    "cast": program('T.Cast("float32", A[vi].astype("int32"))'),
    "computed index": program('A[T.cast(A[vi], "int64")]'),
    "square": program("T.exp(A[vi]) ** 2"),
    "math function": program('T.call_pure_extern("float32", "tanhf", A[vi])'),
    "vector intrinsic": program('T.call_llvm_pure_intrin("float32", "llvm.sqrt.f32", A[vi])'),
    "dot product": program(
        'T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.sdot.v4i32.v16i8", A[vi], A[vi])'
    ),
    "pragma": program(body='with T.attr(0, "pragma_auto_unroll_max_step", 64):\n    C[0] = A[0]'),
    "block attributes": program(
        body='with T.sblock("C"):\n    T.sblock_attr({"meta_schedule.tiling_structure": "SSRSRS", "axis": 1})\n'
        "    T.reads(A[0:4])\n    T.writes(C[0])\n    T.where(True)\n    C[0] = A[0]"
    ),
    "handles": program(
        body='A = T.match_buffer(a, (64,), "float32")\nC = T.match_buffer(c, [64])\n' + LOOP.format(value="A[vi]")
    ).replace('A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")', "a: T.handle, c: T.handle"),
    "operators": program(result="R.nn.softmax(R.nn.layer_norm(lv, lv, lv, axes=[-1], epsilon=1e-5), axis=-1)"),
    "einsum": program(result='R.einsum((lv, lv), subscripts="i,j->ij")'),
    "constants": program(result='R.add(lv, R.const(-1.5, "float32"))'),
    "module attributes": program().replace("class Module:\n", 'class Module:\n    I.module_attrs({"x": 1})\n'),
}  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_reasonable_text_is_admitted(text: str):
    guard.check(text)


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_text_is_admitted_or_refused_but_nothing_else_happens(text: str):
    with contextlib.suppress(GuardRefusal):
        guard.check(text)


@given(
    st.sampled_from(sorted(set(dir(builtins)) - set(guard_names.PYTHON_CALLS) - {"True", "False", "None"})),
    st.sampled_from(["{}(A[vi])", "{}", "{}.x", "{}[0]", "T.exp({})", "A[{}]", "-{}", "A[vi] + {}(1)"]),
    st.booleans(),
)
@settings(deadline=None)
def test_no_builtin_can_be_named(name: str, form: str, bound_later: bool):
    text = program(form.format(name))
    refusal(
        text.replace("        return gv", f"        {name} = gv\n        return gv") if bound_later else text
    )


@given(st.from_regex(r"[a-z_]{1,12}(\.[a-z_]{1,8}){0,3}", fullmatch=True), st.sampled_from("TRI"))
@settings(deadline=None)
def test_a_dotted_name_outside_the_list_is_refused(path: str, root: str):
    dotted = f"{root}.{path}"
    if dotted not in guard_names.FUNCTIONS:
        refusal(program(f"{dotted}(A[vi])"))
    refusal(program(f"T.exp({dotted})"))


@given(st.recursive(
    st.sampled_from(["A[vi]", "T.float32(1)", "vi", "3", "-2.5"]),
    lambda inner: st.builds("({} + {})".format, inner, inner)
    | st.builds("T.max({}, {})".format, inner, inner)
    | st.builds("T.exp({})".format, inner),
    max_leaves=12,
))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_arithmetic_is_admitted(expression: str):
    guard.check(program(expression))


HOSTILE = [
    *(
        "__import__('os')",
        "open",
        "lambda: 0",
        "A.__class__",
        "T.entry",
        "[x for x in A]",
        "f'{A}'",
        "eval('1')",
    ),
    *("tvm", "(y := 1)", "cls.main", "'text'", "9**9**9", "@", "import os", "\n        x = T\n        "),
]


@given(st.sampled_from(HOSTILE), st.integers(0, len(program())), st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_nothing_hostile_survives_wherever_it_is_put(fragment: str, position: int, removed: int):
    text = program()[:position] + fragment + program()[position + removed :]
    try:
        guard.check(text)
    except GuardRefusal:
        return
    tree = ast.parse(text)
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert names <= {"T", "R", "I", "A", "C", "i", "vi", "in0", "cls", "Module", "lv", "gv"}
    assert not any(
        isinstance(node, ast.Lambda | ast.ListComp | ast.JoinedStr | ast.NamedExpr) for node in ast.walk(tree)
    )
    assert not any(isinstance(node, ast.Attribute) and node.attr.startswith("_") for node in ast.walk(tree))


@pytest.mark.integration
def test_the_parser_would_run_what_the_guard_refuses(tmp_path: Path):
    """The reason for the guard: if this fails, TVM no longer evaluates what it parses."""
    import tvm

    marker = tmp_path / "touched"
    text = program(f'T.float32(__import__("os").system("touch {marker}"))')
    refusal(text)
    assert not marker.exists()
    tvm.script.from_source(text)
    assert marker.exists()


def test_the_guard_imports_no_tvm():
    code = "import sys, edgelab.kernel.guard; sys.exit('tvm' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
