from __future__ import annotations

import pytest
import tvm

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import reads
from tests.support.programs import program

pytestmark = pytest.mark.integration


def judge(body: str) -> None:
    reads.check_reads_follow_writes(tvm.script.from_source(program(body=body), check_well_formed=False))


WRITTEN = {
    'both branches loop': 'if A[0] > T.float32(0):\n    for i in range(64):\n        C[i] = A[i]\nelse:\n    for i in range(64):\n        C[i] = -A[i]\nfor i in range(64):\n    C[i] = C[i] * T.float32(2)',
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
    'prefix2': 'for i in range(64):\n    C[i] = A[i] + T.if_then_else(i > 0, C[i-1], T.float32(0))',
    'prefix3': 'C[0] = A[0]\nfor i in range(1, 64):\n    C[i] = C[i-1] + A[i]',
    'reduction': 'for i, k in T.grid(64, 64):\n    with T.sblock("r"):\n        vi, vk = T.axis.remap("SR", [i, k])\n        with T.init():\n            C[vi] = T.float32(0)\n        C[vi] = C[vi] + A[vk]',
    'dblbuf': 'D = T.alloc_buffer((2, 8), "float32")\nfor u in range(8):\n    D[0, u] = A[u]\nfor k in range(8):\n    if k < 7:\n        for u in range(8):\n            D[(k+1)%2, u] = A[(k+1)*8+u]\n    for u in range(8):\n        C[k*8+u] = D[k%2, u]',
    'pipeline': 'B = T.alloc_buffer((64,), "float32")\nfor k in range(65):\n    if k > 0:\n        C[k-1] = B[k-1]\n    if k < 64:\n        B[k] = A[k]',
    'pipeline3': 'B = T.alloc_buffer((64,), "float32")\nD = T.alloc_buffer((64,), "float32")\nfor k in range(66):\n    if k >= 2:\n        C[k-2] = D[k-2]\n    if k >= 1 and k < 65:\n        D[k-1] = B[k-1]\n    if k < 64:\n        B[k] = A[k]',
    'tiled': 'for ko, i, ki in T.grid(8, 64, 8):\n    C[i] = T.if_then_else(ko == 0 and ki == 0, T.float32(0), C[i]) + A[ko*8+ki]',
    'cache write': 'B = T.alloc_buffer((64,), "float32")\nfor i in range(64):\n    B[i] = A[i]\nfor i in range(64):\n    C[i] = B[i]',
    'scalar': 'for i in range(64):\n    x: T.float32 = A[i]\n    x = x * x\n    C[i] = x',
    'both branches': 'for i in range(64):\n    if A[i] > T.float32(0):\n        C[i] = A[i]\n    else:\n        C[i] = T.float32(0)\n    C[i] = C[i] * T.float32(2)',
    'max': 'm = T.alloc_local((1,), "float32")\nm[0] = T.float32(-1e30)\nfor i in range(64):\n    if A[i] > m[0]:\n        m[0] = A[i]\nfor i in range(64):\n    C[i] = m[0]',
    'compaction': 'B = T.alloc_buffer((64,), "float32")\nn = T.alloc_local((1,), "int32")\nn[0] = 0\nfor i in range(64):\n    if A[i] > T.float32(0):\n        B[n[0]] = A[i]\n        n[0] += 1\nfor j in range(64):\n    C[j] = T.if_then_else(j < n[0], B[j], T.float32(0))',
    'while': 'n = T.alloc_local((1,), "int32")\nn[0] = 0\nwhile n[0] < 64:\n    C[n[0]] = A[n[0]] + T.if_then_else(n[0] > 0, C[n[0]-1], T.float32(0))\n    n[0] += 1',
    'view': 'D = T.decl_buffer((8, 8), "float32", data=C.data)\nfor i in range(64):\n    C[i] = A[i]\nfor i, j in T.grid(8, 8):\n    D[i, j] = D[i, j] * T.float32(2)',
    'reverse scan': 'for i in range(64):\n    if i == 0:\n        C[63] = A[63]\n    else:\n        C[63-i] = C[64-i] + A[63-i]',
    'parallel': 'for i in T.parallel(8):\n    acc = T.alloc_buffer((8,), "float32")\n    for j in T.vectorized(8):\n        acc[j] = T.float32(0)\n    for k in range(8):\n        for j in T.vectorized(8):\n            acc[j] = acc[j] + A[k*8+j]\n    for j in T.vectorized(8):\n        C[i*8+j] = acc[j]',
    'pad': 'P = T.alloc_buffer((66,), "float32")\nfor i in range(66):\n    P[i] = T.if_then_else(i >= 1 and i < 65, A[i-1], T.float32(0))\nfor i in range(64):\n    C[i] = P[i] + P[i+1] + P[i+2]',
    'match': 'for i in range(64):\n    with T.sblock("q"):\n        vi = T.axis.spatial(64, i)\n        G = T.match_buffer(C[vi:vi + 1], (1,), "float32")\n        G[0] = A[vi]\n        C[vi] = G[0] + C[vi]',
    'launch': 'with T.launch_thread("threadIdx.x", 64) as tx:\n    C[tx] = A[tx]\n    C[tx] = C[tx] * T.float32(2)',
}  # fmt: skip


@pytest.mark.parametrize("body", WRITTEN.values(), ids=WRITTEN.keys())
def test_what_may_have_been_written_may_be_read(body: str):
    judge(body)


UNWRITTEN = {
    'one then other': 'C[0] = T.float32(0)\nif C[63] != A[63]:\n    for i in range(64):\n        C[i] = A[i]',
    'second turn': 'for n in range(2):\n    if n == 1:\n        if C[63] != A[63]:\n            for i in range(64):\n                C[i] = A[i]',
    'second turn 2': 'for n in range(3):\n    if n > 1:\n        if C[63] != A[63]:\n            for i in range(64):\n                C[i] = A[i]',
    'never': 'if A[0] > T.float32(1e30):\n    for i in range(64):\n        C[i] = T.float32(0)\nif C[63] != A[63]:\n    for i in range(64):\n        C[i] = A[i]',
    'empty loop': 'for i in range(0):\n    C[i] = T.float32(0)\nfor i in range(64):\n    C[i] = C[i]*T.float32(0.5) + A[i]',
    'const guard': 'for i in range(64):\n    if i > 70:\n        C[i] = T.float32(0)\nfor i in range(64):\n    C[i] = C[i]*T.float32(0.5) + A[i]',
    'via view': 'D = T.decl_buffer((1,), "float32", data=C.data)\nD[0] = T.float32(1)\nif C[63] != A[63]:\n    for i in range(64):\n        C[i] = A[i]',
    'augment': 'for i in range(64):\n    C[i] += A[i]',
    'no init': 'for i, k in T.grid(64, 64):\n    with T.sblock("r"):\n        vi, vk = T.axis.remap("SR", [i, k])\n        C[vi] = C[vi] + A[vk]',
    'short circuit': 'for i in range(64):\n    if i < 64 and C[i] != A[i]:\n        C[i] = A[i]',
    'while': 'while C[0] != A[0]:\n    C[0] = A[0]',
    'row lazily': 'D = T.decl_buffer((8, 8), "float32", data=C.data)\nfor i in range(8):\n    D[i, 0] = A[i*8]\n    if D[i, 7] != A[i*8+7]:\n        for j in range(1, 8):\n            D[i, j] = A[i*8+j]',
    'index': 'C[T.cast(T.max(T.min(C[3], T.float32(1)), T.float32(0)), "int32")] = A[0]',
    'let': 'y: T.let[T.float32] = C[3]\nif y != A[3]:\n    for i in range(64):\n        C[i] = A[i]',
    'select': 'for i in range(64):\n    C[i] = T.Select(C[i] == A[i], C[i], A[i])',
}  # fmt: skip


@pytest.mark.parametrize("body", UNWRITTEN.values(), ids=UNWRITTEN.keys())
def test_what_nothing_can_have_written_is_not_read(body: str):
    with pytest.raises(EvaluationFailure) as caught:
        judge(body)
    assert caught.value.failure_class is FailureClass.HACK
    assert "kernel scale reads C before anything in it was written: " in caught.value.message


def test_an_own_buffer_is_unwritten_too_and_the_message_says_where():
    with pytest.raises(EvaluationFailure) as caught:
        judge('s = T.alloc_buffer((9,), "float32")\nfor i in range(64):\n    C[i] = A[i] + s[0]')
    assert "reads s before anything in it was written: s[0] (line 7)" in caught.value.message


def test_an_output_that_operators_use_is_written_to_its_end():
    with pytest.raises(EvaluationFailure, match="leaves elements of its output C unwritten") as caught:
        judge("for i in range(63):\n    C[i] = A[i]")
    assert caught.value.failure_class is FailureClass.NUMERIC
    reads.check_reads_follow_writes(
        tvm.script.from_source(program(body="for i in range(63):\n    C[i] = A[i]", result="lv"))
    )
