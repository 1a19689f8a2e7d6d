"""Candidates for the task tests/support/tasks/tiny.py, good and bad, as TVMScript."""

from __future__ import annotations

from pathlib import Path

TINY = Path(__file__).parent / "tasks" / "tiny.py"
DENSE = Path(__file__).parent / "tasks" / "dense.py"

_MODULE = """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((T.int64(64), T.int64(64)), "float32"), w: T.Buffer((T.int64(64),), "float32"), y: T.Buffer((T.int64(64), T.int64(64)), "{dtype}")):
{body}

    @R.function
    def main(in0: R.Tensor((64, 64), dtype="float32"), p0: R.Tensor((64,), dtype="float32")) -> R.Tensor((64, 64), dtype="{dtype}"):
        R.func_attr({{"num_input": 1}})
        cls = Module
        with R.dataflow():
            out = R.call_tir(cls.kernel, (in0, p0), out_ty=R.Tensor((64, 64), dtype="{dtype}"))
            R.output(out)
        return out
"""

_LOOP = """        for i, j in T.grid(64, 64):
            with T.sblock("compute"):
                vi, vj = T.axis.remap("SS", [i, j])
                {statement}
"""


def module(body: str, dtype: str = "float32") -> str:
    """Return a module whose kernel has this body (eight spaces of indent)."""
    return _MODULE.format(body=body.rstrip(), dtype=dtype)


def loop(statement: str, dtype: str = "float32") -> str:
    """Return a module that runs one statement for every (vi, vj)."""
    return module(_LOOP.format(statement=statement), dtype)


GOOD = loop("y[vi, vj] = T.max(x[vi, vj], T.float32(0)) * w[vj]")
WRONG = loop("y[vi, vj] = T.max(x[vi, vj], T.float32(0)) * w[vj] + T.float32(0.01)")
ZEROS = loop("y[vi, vj] = T.float32(0)")
NOT_A_NUMBER = loop("y[vi, vj] = T.sqrt(T.float32(-1) - T.abs(x[vi, vj]))")
SYNTAX_ERROR = GOOD.replace("for i, j in T.grid(64, 64):", "for i, j in T.grid(64, 64)")
UNKNOWN_NAME = GOOD.replace("T.max(", "T.maximal(")
WRONG_SHAPE = GOOD.replace("(64, 64)", "(64, 32)").replace(
    "T.int64(64), T.int64(64)", "T.int64(64), T.int64(32)"
)
WRONG_DTYPE = loop('y[vi, vj] = T.cast(T.max(x[vi, vj], T.float32(0)) * w[vj], "float64")', "float64")
OUT_OF_BOUNDS = loop("y[vi + 100000, vj] = x[vi, vj]")
SEGFAULT = loop('y[T.cast(T.abs(x[vi, vj]) * T.float32(1e9), "int64") + T.int64(100000000), vj] = x[vi, vj]')
ENDLESS = module("""        for i, j in T.grid(T.int64(64), T.int64(64)):
            for k in range(T.int64(1000000000000)):
                with T.sblock("compute"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        y[vi, vj] = T.float32(0)
                    y[vi, vj] = y[vi, vj] * T.float32(0.5) + T.sin(x[vi, vj] * T.cast(vk, "float32"))
""")
HUGE = """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fill(x: T.Buffer((T.int64(64), T.int64(64)), "float32"), t: T.Buffer((T.int64(26843545600),), "float32")):
        for i in range(T.int64(26843545600)):
            with T.sblock("fill"):
                vi = T.axis.spatial(T.int64(26843545600), i)
                t[vi] = x[vi % T.int64(64), T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((T.int64(64), T.int64(64)), "float32"), w: T.Buffer((T.int64(64),), "float32"), t: T.Buffer((T.int64(26843545600),), "float32"), y: T.Buffer((T.int64(64), T.int64(64)), "float32")):
        for i, j in T.grid(T.int64(64), T.int64(64)):
            with T.sblock("compute"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(x[vi, vj], T.float32(0)) * w[vj] + t[vi] * T.float32(0)

    @R.function
    def main(in0: R.Tensor((64, 64), dtype="float32"), p0: R.Tensor((64,), dtype="float32")) -> R.Tensor((64, 64), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            t = R.call_tir(cls.fill, (in0,), out_ty=R.Tensor((26843545600,), dtype="float32"))
            out = R.call_tir(cls.kernel, (in0, p0, t), out_ty=R.Tensor((64, 64), dtype="float32"))
            R.output(out)
        return out
"""


def runs_python(command: str) -> str:
    """Return a candidate that tries to run a shell command while it is parsed."""
    return GOOD.replace("T.float32(0)", f'T.float32(__import__("os").system({command!r}))', 1)
