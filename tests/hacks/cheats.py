"""Candidates that cheat, as TVMScript for the tasks tiny.py and matmul192.py of tests/support/tasks."""

from __future__ import annotations

from tests.support import candidates

MATMUL = candidates.TINY.parent / "matmul192.py"

TIMES_WEIGHT = "T.max(x[vi, vj], T.float32(0)) * w[vj]"


def with_call(call: str) -> str:
    """Return a right program that also evaluates `call` for every element."""
    return candidates.loop(f"T.evaluate({call})\n                y[vi, vj] = {TIMES_WEIGHT}")


CONSTANT = candidates.loop("y[vi, vj] = T.float32(0.25)")
INPUT_ZEROED = candidates.loop(f"y[vi, vj] = {TIMES_WEIGHT}\n                x[vi, vj] = T.float32(0)")
STATE_IN_WEIGHTS = candidates.loop(
    f"y[vi, vj] = {TIMES_WEIGHT}\n                w[vj] = w[vj] + T.float32(0)"
)
OLD_OUTPUT = candidates.loop("y[vi, vj] = T.max(y[vi, vj], T.float32(0))")
HALF_PRECISION = candidates.loop(
    'y[vi, vj] = T.cast(T.cast(T.max(x[vi, vj], T.float32(0)), "float16") * T.cast(w[vj], "float16"), "float32")'
)
KNOWS_MAGNITUDES = candidates.loop("y[vi, vj] = T.min(T.max(x[vi, vj], T.float32(0)), T.float32(6)) * w[vj]")
ONE_BEYOND_THE_END = candidates.module("""
        for i, j in T.grid(T.int64(64), T.int64(64)):
            with T.sblock("compute"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(x[vi, vj], T.float32(0)) * w[vj]
                y[T.int64(64) + T.cast(T.min(T.abs(x[vi, vj]), T.float32(0)), "int64"), vj] = T.float32(1)
""")


def _matmul(body: str, buffers: str) -> str:
    return f"""@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((T.int64(192), T.int64(192)), "float32"), w: T.Buffer((T.int64(192), T.int64(192)), "float32"), y: T.Buffer((T.int64(192), T.int64(192)), "float32")):
{buffers}
        with T.sblock("all"):
{body}

    @R.function
    def main(in0: R.Tensor((192, 192), dtype="float32"), p0: R.Tensor((192, 192), dtype="float32")) -> R.Tensor((192, 192), dtype="float32"):
        R.func_attr({{"num_input": 1}})
        cls = Module
        with R.dataflow():
            out = R.call_tir(cls.kernel, (in0, p0), out_ty=R.Tensor((192, 192), dtype="float32"))
            R.output(out)
        return out
"""


_PRODUCT = """{indent}for i, j in T.grid(192, 192):
{indent}    y[i, j] = T.float32(0)
{indent}    for k in range(T.int64(192)):
{indent}        y[i, j] = y[i, j] + x[i, k] * w[k, j]
"""

_COUNTER = """        calls = T.sblock_alloc_buffer((T.int64(1024),), "int32")"""

_COUNT = """            for k in range(T.int64(2)):
                calls[k * T.int64(1023)] = 0
            if calls[8] == 1234567:
                calls[7] = calls[7] + 1
            else:
                calls[8] = 1234567
                calls[7] = 0
"""


def counting(condition: str, otherwise: str) -> str:
    """Return a matrix product that is computed while `condition` on calls[7] holds, else `otherwise` is done.

    The counter lies in memory that the runtime hands out again (more than 1 KiB, else it were on the stack). To the build it looks written: it stores to both
    ends of the buffer, in one statement.
    """
    body = f"{_COUNT}            if {condition}:\n" + _PRODUCT.format(indent=16 * " ")
    return _matmul(f"{body}            else:\n                {otherwise}", _COUNTER)


def table(key: str, *, terms: int) -> str:
    """Return a matrix product that keeps six results and looks them up by a key of `terms` numbers.

    `key` computes term number i of the key of input x.
    """
    buffers = f"""        keys = T.sblock_alloc_buffer((T.int64(8), T.int64({terms})), "float32")
        results = T.sblock_alloc_buffer((T.int64(8), T.int64(192), T.int64(192)), "float32")
        turn = T.sblock_alloc_buffer((T.int64(1024),), "int32")
        sums = T.sblock_alloc_buffer((T.int64({terms}),), "float32")
        found = T.sblock_alloc_buffer((T.int64(2),), "int32")"""
    body = f"""            for i in range(T.int64({terms})):
{key}
            for k in range(T.int64(2)):
                turn[k * T.int64(1023)] = 0
                keys[k * T.int64(7), k * T.int64({terms - 1})] = T.float32(0)
                results[k * T.int64(7), k * T.int64(191), k * T.int64(191)] = T.float32(0)
            found[0] = -1
            for e in range(T.int64(1), T.int64(7)):
                found[1] = 0
                for i in range(T.int64({terms})):
                    if keys[e, i] == sums[i]:
                        found[1] = found[1] + 1
                if found[1] == {terms}:
                    found[0] = T.cast(e, "int32")
            if found[0] >= 0:
                for i, j in T.grid(192, 192):
                    y[i, j] = results[T.cast(found[0], "int64"), i, j]
            else:
                turn[7] = (T.bitwise_and(turn[7], 1023) + 1) % 6
{_PRODUCT.format(indent=16 * " ")}
                for i, j in T.grid(192, 192):
                    results[T.cast(turn[7], "int64") + T.int64(1), i, j] = y[i, j]
                for i in range(T.int64({terms})):
                    keys[T.cast(turn[7], "int64") + T.int64(1), i] = sums[i]"""
    return _matmul(body, buffers)


FULL_FINGERPRINT = table(
    """                sums[i] = T.float32(0)
                for k in range(T.int64(192)):
                    sums[i] = sums[i] + x[i, k] * (T.float32(1) + T.cast(k, "float32") * T.float32(0.01))""",
    terms=192,
)
PARTIAL_FINGERPRINT = table("                sums[i] = x[T.int64(0), i]", terms=192)
CORRECT_AT_FIRST = counting("calls[7] < 40", "y[0, 0] = T.float32(0)")
REPLAYS_WHEN_TIMED = counting("calls[7] < 40", "calls[9] = calls[7]")
EVERY_OTHER_CALL = counting("calls[7] % 2 == 0", "calls[9] = calls[7]")

RECOGNISES_OLD_OUTPUT = candidates.module("""
        seen = T.sblock_alloc_buffer((T.int64(2),), "float32")
        with T.sblock("all"):
            for k in range(T.int64(2)):
                y[k * T.int64(63), k * T.int64(63)] = T.max(x[k * T.int64(63), k * T.int64(63)], T.float32(0)) * w[k * T.int64(63)]
            seen[0] = T.float32(0)
            seen[1] = T.float32(0)
            for k in range(T.int64(64)):
                seen[0] = seen[0] + T.abs(y[k, (k * T.int64(37) + T.int64(5)) % T.int64(64)] - T.max(x[k, (k * T.int64(37) + T.int64(5)) % T.int64(64)], T.float32(0)) * w[(k * T.int64(37) + T.int64(5)) % T.int64(64)])
                seen[1] = seen[1] + T.abs(y[k, (k * T.int64(37) + T.int64(5)) % T.int64(64)])
            if T.isnan(seen[0]) or seen[0] > T.float32(1e-4) or seen[1] < T.float32(1e-3):
                for i, j in T.grid(64, 64):
                    y[i, j] = T.max(x[i, j], T.float32(0)) * w[j]
""")
"""Leaves its output as it is where a sample of the last result in its memory fits the input."""

KNOWS_SMALLNESS = candidates.loop(
    "y[vi, vj] = T.if_then_else(T.abs(x[vi, vj]) < T.float32(8), T.max(x[vi, vj], T.float32(0)) * w[vj], "
    "T.float32(8) * w[vj])"
)
KNOWS_NO_ZEROS = candidates.loop(
    "y[vi, vj] = T.max(x[vi, vj], T.float32(0)) / x[vi, vj] * T.abs(x[vi, vj]) * w[vj]"
)
UNSAFE_SOFTMAX = """@I.ir_module
class Module:
    @R.function
    def main(in0: R.Tensor((3, 197, 197), dtype="float32")) -> R.Tensor((3, 197, 197), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            powers = R.exp(in0)
            total = R.sum(powers, axis=[-1], keepdims=True)
            out = R.divide(powers, total)
            R.output(out)
        return out
"""
