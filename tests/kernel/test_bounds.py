from __future__ import annotations

import pytest
import tvm

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import bounds
from tests.support.programs import program

pytestmark = pytest.mark.integration


def judge(body: str) -> None:
    bounds.check_bounds(tvm.script.from_source(program(body=body), check_well_formed=False))


INSIDE = {
    'strided': 'for j in range(0, 64, 16):\n    for u in T.vectorized(16):\n        C[j+u] = A[j+u]',
    'serial step': 'for j in T.serial(0, 64, step=4):\n    for u in range(4):\n        C[j+u] = A[j+u]',
    'ramp': 'for j in range(0, 64, 16):\n    C[T.ramp(j,1,16)] = A[T.ramp(j,1,16)]',
    'likely': 'for jo in range(5):\n    for ji in range(15):\n        if T.likely(jo*15+ji < 64):\n            C[jo*15+ji] = A[jo*15+ji]',
    'continue': 'for j in range(256):\n    if j >= 64:\n        continue\n    C[j] = A[j]',
    'break': 'for j in range(256):\n    C[j] = A[j]\n    if j >= 63:\n        break',
    'where': 'for jo, ji in T.grid(5, 15):\n    with T.sblock("b"):\n        vi = T.axis.spatial(64, jo*15+ji)\n        T.where(jo*15+ji < 64)\n        C[vi] = A[vi]',
    'select edge': 'for i in range(64):\n    C[i] = T.if_then_else(i > 0 and i < 63, A[i-1] + A[i+1], A[i])',
    'clamp': 'for i in range(64):\n    C[i] = A[T.max(T.min(i-3, 63), 0)]',
    'triangular': 'for i in range(64):\n    for j in range(i):\n        C[i] = A[i-j]',
    'prefix': 'for i in range(64):\n    if i == 0:\n        C[0] = A[0]\n    else:\n        C[i] = C[i-1] + A[i]',
    'pad': 'P = T.alloc_buffer((66,), "float32")\nfor i in range(66):\n    P[i] = T.if_then_else(i >= 1 and i < 65, A[i-1], T.float32(0))\nfor i in range(64):\n    C[i] = P[i] + P[i+1] + P[i+2]',
    'view': 'D = T.decl_buffer((8, 8), "float32", data=C.data)\nfor i in range(64):\n    C[i] = A[i]\nfor i, j in T.grid(8, 8):\n    D[i, j] = D[i, j] * T.float32(2)',
    'match': 'for i in range(64):\n    with T.sblock("q"):\n        vi = T.axis.spatial(64, i)\n        G = T.match_buffer(C[vi:vi + 1], (1,), "float32")\n        G[0] = A[vi]\n        C[vi] = G[0] + C[vi]',
    'launch': 'with T.launch_thread("threadIdx.x", 64) as tx:\n    C[tx] = A[tx]\n    C[tx] = C[tx] * T.float32(2)',
    'data': 'for i in range(64):\n    C[T.Cast("int32", A[i])] = A[i]',
    'never': 'for i in range(64):\n    if i > 70:\n        C[i + 100] = A[i]',
}  # fmt: skip


@pytest.mark.parametrize("body", INSIDE.values(), ids=INSIDE.keys())
def test_what_may_stay_inside_is_left_to_the_device(body: str):
    judge(body)


OUTSIDE = {
    'step1': 'for i in range(65):\n    C[i] = T.float32(0)',
    'load': 'for i in range(64):\n    C[i] = A[i+1]',
    'neg': 'for i in range(64):\n    C[i-1] = A[i]',
    'stride': 'for i in T.serial(0, 68, step=4):\n    C[i] = A[0]',
    'disjoint guarded': 'for i in range(64):\n    if A[i] > T.float32(0):\n        C[i+100] = A[i]',
    'ramp': 'for j in range(0, 64, 16):\n    C[T.ramp(j+1,1,16)] = A[T.ramp(j,1,16)]',
    'nonlinear': 'for i in range(64):\n    C[i*i] = A[i]',
    'block vi + 1': 'for i in range(64):\n    with T.sblock("C"):\n        vi = T.axis.remap("S", [i])\n        C[vi + 1] = A[vi]',
    'block vi - 1': 'for i in range(64):\n    with T.sblock("C"):\n        vi = T.axis.remap("S", [i])\n        C[vi - 1] = A[vi]',
    'block vi * 1000000': 'for i in range(64):\n    with T.sblock("C"):\n        vi = T.axis.remap("S", [i])\n        C[vi * 1000000] = A[vi]',
}  # fmt: skip


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_provably_leaves_its_buffer_is_a_memory_failure(body: str):
    with pytest.raises(EvaluationFailure) as caught:
        judge(body)
    assert caught.value.failure_class is FailureClass.MEMORY
    assert "kernel scale accesses memory outside a buffer: " in caught.value.message


def test_the_message_names_access_index_extent_and_line():
    with pytest.raises(EvaluationFailure) as caught:
        judge("for i in range(64):\n    C[i + 5] = A[i]")
    assert "C[i + 5] = A[i], index 68 where 64 elements are (line 6)" in caught.value.message
