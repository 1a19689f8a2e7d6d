from __future__ import annotations

import numpy as np
import pytest
import tvm

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import checks
from edgelab.kernel.program import TensorSpec
from tests.support.programs import INPUT, OUTPUT, program

pytestmark = pytest.mark.integration


def parse(text: str) -> tvm.IRModule:
    return tvm.script.from_source(text, check_well_formed=False)


def interface(text: str, *, inputs=(INPUT,), params=None, outputs=(OUTPUT,), structure=None) -> None:
    checks.check_interface(parse(text), inputs, params or {}, outputs, structure)


def test_a_matching_interface_passes():
    interface(program(), structure="tensor")


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (program().replace("def main", "def entry"), {}, "no Relax function named main"),
        (program(), {"inputs": (INPUT, INPUT)}, "main takes 1 arguments, expected 2"),
        (program(), {"params": {"p0": np.zeros((2, 3), np.uint8)}}, "p0: uint8[2, 3]"),
        (program(), {"inputs": (TensorSpec("in0", (8, 8), "float32"),)}, "got float32[64], expected float32[8, 8]"),
        (program(), {"inputs": (TensorSpec("in0", (64,), "float16"),)}, "wrong dtype: got float32[64]"),
        (program(), {"outputs": (TensorSpec("out0", (32,), "float32"),)}, "output out0 of main has the wrong shape"),
        (program(), {"outputs": (TensorSpec("out0", (64,), "int8"),)}, "expected int8[64]"),
        (program(), {"outputs": (OUTPUT, OUTPUT)}, "main returns 1 tensors, expected 2"),
        (program(), {"structure": "tuple"}, "main returns a tensor, expected a tuple"),
        (program(result="(R.nn.relu(lv),)").replace('-> R.Tensor((64,), "float32")', ""), {"structure": "tensor"},
         "main returns a tuple"),
        (program(result='R.astype(lv, "float16")').replace('-> R.Tensor((64,), "float32")', ""), {}, "wrong dtype"),
        (program(result="R.reshape(lv, (8, 8))").replace('-> R.Tensor((64,), "float32")', ""), {}, "wrong shape"),
        (program(result='R.zeros((32,), "float32")'), {}, "wrong shape"),
    ],
)  # fmt: skip
def test_a_mismatch_names_what_got_and_expected(text: str, arguments: dict[str, object], expected: str):
    with pytest.raises(EvaluationFailure) as caught:
        interface(text, **arguments)
    assert caught.value.failure_class is FailureClass.SYNTAX_API
    assert expected in caught.value.message


def test_a_well_formed_program_passes_every_check():
    module = parse(program())
    checks.check_well_formed(module)
    checks.check_no_addresses(module)
    checks.check_inputs_untouched(module)


def test_a_kernel_called_with_too_many_arguments_is_not_well_formed():
    with pytest.raises(EvaluationFailure, match="not well-formed: The `out_ty` argument"):
        checks.check_well_formed(parse(program().replace("(in0,)", "(in0, in0)")))


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(64):\n    A[i] = C[i]",
        "for i in range(64):\n    C[i] = A[i]\n    A[i] += T.float32(1)",
        'B = T.decl_buffer((8, 8), "float32", data=A.data)\nB[0, 0] = T.float32(1)\nC[0] = A[0]',
        'B = T.decl_buffer((8, 8), "float32", data=A.data)\nD = T.decl_buffer((64,), "float32", data=B.data)\n'
        "D[0] = T.float32(1)\nC[0] = A[0]",
        'for i in range(64):\n    with T.sblock("C"):\n        vi = T.axis.remap("S", [i])\n'
        '        G = T.match_buffer(A[vi:vi + 1], (1,), "float32")\n        G[0] = T.float32(1)\n        C[vi] = A[vi]',
    ],
    ids=["store", "augmented store", "view", "view of a view", "matched region"],
)
def test_a_kernel_that_writes_to_its_input_is_a_hack(body: str):
    with pytest.raises(EvaluationFailure) as caught:
        checks.check_inputs_untouched(parse(program(body=body)))
    assert caught.value.failure_class is FailureClass.HACK
    assert "kernel scale writes to its input A" in caught.value.message


def test_a_view_of_the_output_may_be_written():
    body = 'B = T.decl_buffer((8, 8), "float32", data=C.data)\nfor i, j in T.grid(8, 8):\n    B[i, j] = A[i * 8 + j]'
    checks.check_inputs_untouched(parse(program(body=body)))


def test_a_view_of_a_made_up_address_is_a_hack():
    body = 'B = T.decl_buffer((64,), "float32", data=T.reinterpret("handle", T.uint64(4096)))\nB[0] = A[0]\nC[0] = A[0]'
    with pytest.raises(EvaluationFailure) as caught:
        checks.check_inputs_untouched(parse(program(body=body)))
    assert caught.value.failure_class is FailureClass.HACK


def test_a_kernel_that_is_called_without_call_tir_is_refused():
    text = program(result="R.nn.relu(lv)").replace(
        "with R.dataflow():", "cls.scale(in0, in0)\n        with R.dataflow():"
    )
    with pytest.raises(EvaluationFailure, match=r"use R\.call_tir"):
        checks.check_inputs_untouched(parse(text))


@pytest.mark.parametrize(
    "data",
    ['T.reinterpret("handle", T.uint64(4096))', 'T.reinterpret("handle", T.cast(C[0], "uint64"))',
     'T.reinterpret("handle", T.reinterpret("uint64", A.data))'],
)  # fmt: skip
def test_a_number_made_into_an_address_is_a_hack(data: str):
    body = f'B = T.decl_buffer((64,), "float32", data={data})\nB[0] = A[0]\nC[0] = A[0]'
    with pytest.raises(EvaluationFailure, match="converts between a number and an address") as caught:
        checks.check_no_addresses(parse(program(body=body)))
    assert caught.value.failure_class is FailureClass.HACK


def test_conversions_between_numbers_are_no_addresses():
    value = 'T.reinterpret("float32", T.reinterpret("int32", A[vi]) & 255) + T.cast(vi, "float32")'
    checks.check_no_addresses(parse(program(value)))
