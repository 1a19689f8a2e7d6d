"""What honest programs carry out of habit: admitted, or refused with advice; and what is told apart from it."""

from __future__ import annotations

import builtins

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelab.errors import FailureClass
from edgelab.kernel import guard, guard_names
from edgelab.kernel.guard import GuardRefusal
from tests.support.programs import program


def refusal(text: str) -> GuardRefusal:
    with pytest.raises(GuardRefusal) as caught:
        guard.check(text)
    return caught.value


MAIN = '\nif __name__ == "__main__":\n    print(Module)\n'
PLAIN_KERNEL = program().replace("(private=True, s_tir=True)", "(private=True)")
MACRO = program().replace("    @R.function", "    @T.macro\n    def m(x):\n        pass\n\n    @R.function")
HABITS = {
    "max": (program("max(A[vi], 0)"), "use T.max()"),
    "import tvm": ("import tvm\n" + program(), "defined already"),
    "import tvm.script": ("import tvm.script\n" + program(), "defined already"),
    "from tvm": ("from tvm import relax\n" + program(), "defined already"),
    "future": ("from __future__ import annotations\n" + program(), "remove it"),
    "assert": (program(body="assert 64 % 32 == 0\nC[0] = A[0]"), "T.assume()"),
    "main": (program() + MAIN, "remove the code for running the file"),
    "tir": (program("tir.exp(A[vi])"), "use T.exp"),
    "tvm.tir": (program("tvm.tir.exp(A[vi])"), "use T.exp"),
    "math": (program("A[vi] * math.sqrt(2.0)"), "use T.sqrt"),
    "math constant": (program("A[vi] * math.pi"), "write the number out"),
    "f-string": (program(body='with T.sblock(f"C_{1}"):\n    C[0] = A[0]'), "write a plain string"),
    "meta_var": (program(body="n = T.meta_var(64)\nC[0] = A[0]"), "T.let"),
    "macro": (MACRO, "in place"),
    "call_extern": (program('T.call_extern("float32", "expf", A[vi])'), "write T.call_pure_extern"),
    "quote in a name": (program(body="with T.sblock(\"mat'mul#1\"):\n    C[0] = A[0]"), "no attribute needs"),
    "sblock": (PLAIN_KERNEL, "@T.prim_func(s_tir=True)"),
    "block": (program().replace("T.sblock", "T.block"), "T.sblock"),
    "out_sinfo": (program().replace("out_ty=", "out_sinfo="), "out_ty="),
    "symbol": (program(body='T.func_attr({"global_symbol": "@plt"})\nC[0] = A[0]'), "plain name"),
    "symbol of the runtime": (program(body='T.func_attr({"global_symbol": "TVMBackend"})\nC[0] = A[0]'), "plain name"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "advice"), HABITS.values(), ids=HABITS.keys())
def test_an_honest_habit_gets_advice(text: str, advice: str):
    error = refusal(text)
    assert error.failure_class is FailureClass.SYNTAX_API
    assert advice in error.message


INPUT = 'in0: R.Tensor((64,), "float32")'
REACHES = {
    "subprocess": "import subprocess\n" + program(),
    "from os": "from os import system\n" + program(),
    "open": program('open("x")'),
    "bare open": program("A[vi] + open"),
    "tvm.runtime": program('tvm.runtime.load_module("x.so")'),
    "extern": program('T.call_extern("int32", "system", 1)'),
    "packed": program('T.call_packed("system", 1)'),
    "source": program(body='T.func_attr({"pragma_import_c": "int x;"})\nC[0] = A[0]'),
    "dunder": program('A["__class__"]'),
    "address": program('T.reinterpret("handle", T.uint64(1))'),
    "address by cast": program('T.cast(A[vi], dtype="handle")'),
    "address by name": program("T.handle(1)"),
    "evaluated shape": program().replace(INPUT, 'in0: R.Tensor("exit()", "float32")'),
    "evaluated shape list": program().replace(INPUT, 'in0: R.Shape(["n"])'),
    "evaluated value": program().replace(INPUT, 'in0: R.Prim(value="exit()")'),
}


@pytest.mark.parametrize("text", REACHES.values(), ids=REACHES.keys())
def test_reaching_outside_stays_a_hack(text: str):
    assert refusal(text).failure_class is FailureClass.HACK


def test_a_refusal_quotes_no_control_characters():
    assert refusal(program("T.nope(1)  # \x1b]0;x\x07\u202e")).message.isprintable()


PREAMBLES = {
    "mark": "\ufeff" + program(),
    "docstring": '"""Scales.\n\nTwice."""\n' + program(),
    "imports": "from tvm.script import ir as I\nfrom tvm.script import relax as R, tirx as T\n\n" + program(),
    "brackets": program().replace("@I.ir_module", "@I.ir_module(\n)"),
    "carriage returns": '"""Scales."""\r\n' + program().replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", PREAMBLES.values(), ids=PREAMBLES.keys())
def test_a_preamble_is_admitted_and_left_out_without_moving_a_line(text: str):
    guard.check(text)
    before, after = text.replace("\r\n", "\n").split("\n"), guard.without_preamble(text).split("\n")
    assert len(after) == len(before)
    assert "".join(after).startswith("@I.ir_moduleclass Module:")
    assert after.index("    @R.function") == before.index("    @R.function")


@pytest.mark.integration
@pytest.mark.parametrize("text", PREAMBLES.values(), ids=PREAMBLES.keys())
def test_tvm_parses_what_is_left(text: str):
    import tvm

    module = tvm.script.from_source(guard.without_preamble(text))
    assert {name.name_hint for name in module.get_global_vars()} == {"scale", "main"}


BUILTINS = st.sampled_from(sorted(set(dir(builtins)) - guard_names.PYTHON_CALLS - {"True", "False", "None"}))
RETURN = "        return gv"
BINDINGS = {
    "module": lambda name: program().replace("class Module", f"class {name}").replace("= Module", f"= {name}"),
    "function": lambda name: program().replace("def scale", f"def {name}").replace("cls.scale", f"cls.{name}"),
    "parameter": lambda name: program().replace("in0", name),
    "local": lambda name: program().replace("gv", name),
    "loop": lambda name: program().replace("for i in", f"for {name} in").replace("[i]", f"[{name}]"),
    "returned type": lambda name: program()
    .replace('-> R.Tensor((64,), "float32")', f"-> R.Tuple({name})")
    .replace(RETURN, f"        {name} = gv\n{RETURN}"),
    "argument's type": lambda name: program()
    .replace(INPUT, f"in0: R.Tuple({name})")
    .replace(RETURN, f"        {name} = gv\n{RETURN}"),
}  # fmt: skip


@given(BUILTINS, st.sampled_from(sorted(BINDINGS)))
@settings(max_examples=200, deadline=None)
def test_no_builtin_can_be_bound(name: str, place: str):
    """A name that is bound later is still Python's where the parser evaluates it first."""
    refusal(BINDINGS[place](name))


@pytest.mark.parametrize("name", ["lv", "gv", "scale", "Module"])
def test_a_signature_uses_parameters_only(name: str):
    text = program().replace('-> R.Tensor((64,), "float32")', f"-> R.Tuple({name})")
    assert f"the name {name} is not defined here" in refusal(text).message


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("R.nn.sotfmax", "R.nn.softmax"), ("R.matmull", "R.matmul"), ("T.maxx", "T.max"), ("R.exp2", "T.exp2")],
)
def test_a_typing_error_is_no_hack_and_the_nearest_name_is_offered(typed: str, meant: str):
    found = refusal(program(result=f"{typed}(lv)"))
    assert found.failure_class is FailureClass.SYNTAX_API
    assert f"nearest: {meant}" in found.message
