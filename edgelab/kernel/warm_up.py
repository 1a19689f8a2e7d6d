"""Compiles one small program in the build server, so that its children inherit TVM's tables already filled."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import tvm

from edgelab.kernel import checks, guard, lowering
from edgelab.kernel.adapters import adapter
from edgelab.kernel.bounds import check_bounds
from edgelab.kernel.reads import check_reads_follow_writes

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
        for i, j, k in T.grid(16, 16, 16):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + A[vi, vk] * T.exp(A[vk, vj])

    @R.function
    def main(in0: R.Tensor((16, 16), dtype="float32")) -> R.Tensor((16, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.scale, (in0,), out_ty=R.Tensor((16, 16), dtype="float32"))
            lv1: R.Tensor((16, 16), dtype="float32") = R.nn.softmax(lv, axis=-1)
            gv: R.Tensor((16, 16), dtype="float32") = R.matmul(lv1, lv, out_dtype="float32")
            R.output(gv)
        return gv
"""
"""Exercises the parser for both dialects, the checks, fusion, vector and scalar code generation."""


def warm_up() -> None:
    """Run every step of a build. Nothing in it starts a thread: the server forks after this."""
    guard.check(PROGRAM)
    module = tvm.script.from_source(PROGRAM, check_well_formed=False)
    checks.check_well_formed(module)
    checks.check_no_addresses(module)
    check_bounds(module)
    checks.check_inputs_untouched(module)
    check_reads_follow_writes(module)
    backend = adapter("llvm")
    target = backend.target(None)
    executable = backend.build(backend.lower(lowering.keep_written_kernels(module), target), target)
    with tempfile.TemporaryDirectory() as folder:
        backend.export(executable, Path(folder, "warm.so"))
    gc.collect()
    gc.freeze()
