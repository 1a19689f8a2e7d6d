from __future__ import annotations

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline

from edgelab.kernel import lowering
from tests.support.programs import program

pytestmark = pytest.mark.integration

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 2})

NETWORK = """@I.ir_module
class Module:
    @R.function
    def main(in0: R.Tensor((4, 16), "float32"), p0: R.Tensor((8, 16), "float32"),
             p1: R.Tensor((8,), "float32")) -> R.Tensor((4, 8), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.permute_dims(p0, axes=[1, 0])
            lv1 = R.matmul(in0, lv)
            lv2 = R.add(lv1, p1)
            gv = R.nn.relu(lv2)
            R.output(gv)
        return gv
"""


def parse(text: str) -> tvm.IRModule:
    return tvm.script.from_source(text)


def lower(module: tvm.IRModule) -> tvm.IRModule:
    return lowering.lower(module, TARGET, pipeline)


def run(lowered: tvm.IRModule, *inputs: np.ndarray) -> np.ndarray:
    executable = relax.build(lowered, TARGET, relax_pipeline=None)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return machine["main"](*[tvm.runtime.tensor(value) for value in inputs]).numpy()


def test_a_plain_program_gets_the_default_pipeline_of_tvm():
    module = parse(NETWORK)
    with TARGET:
        expected = relax.get_default_pipeline(TARGET)(
            relax.transform.CanonicalizeBindings()(relax.transform.DecomposeOpsForInference()(module))
        )
    assert tvm_ffi.structural_equal(lower(module), expected)


def test_operators_around_a_matmul_are_fused():
    kernels = lowering.called_kernels(lower(parse(NETWORK)))
    assert any("matmul_add_relu" in name for name in kernels)


def test_bound_parameters_leave_the_inputs_and_are_folded():
    rng = np.random.default_rng(0)
    params = {"p0": rng.random((8, 16), np.float32), "p1": rng.random(8, np.float32)}
    bound = lowering.bind_parameters(parse(NETWORK), params)
    assert [var.name for var in bound["main"].params] == ["in0"]
    lowered = lower(bound)
    assert len(lowering.called_kernels(lowered)) == 1, "the transpose of the weight must happen at build time"
    x = rng.random((4, 16), np.float32)
    np.testing.assert_allclose(run(lowered, x), np.maximum(x @ params["p0"].T + params["p1"], 0), rtol=1e-5)


def test_binding_leaves_the_given_module_alone():
    module = parse(NETWORK)
    lowering.bind_parameters(module, {"p1": np.zeros(8, np.float32)})
    assert len(module["main"].params) == 3


def test_a_program_without_parameters_is_bound_to_nothing():
    module = parse(program())
    assert lowering.bind_parameters(module, {}) is module


WRITTEN = {
    "with a block": program(),
    "a copy": program("A[vi]"),
    "without blocks": program(body="for i in T.parallel(8):\n    for j in T.vectorized(8):\n"
                                   "        C[i * 8 + j] = A[i * 8 + j] * T.float32(2)"),
    "not schedulable": program(body="for i in range(64):\n    C[i] = A[i] * T.float32(2)").replace(", s_tir=True", ""),
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_written_kernel_stays_as_written(text: str):
    module = lowering.keep_written_kernels(parse(text))
    lowered = lower(module)
    assert lowering.called_kernels(lowered) == ("scale", "relu")
    before, after = module["scale"], lowered["scale"]
    tvm_ffi.structural_equal(before.body, after.body, map_free_vars=True)
    assert tvm_ffi.structural_equal(before.without_attr("global_symbol"), after.without_attr("global_symbol"))


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_written_kernel_computes(text: str):
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    factor = 1 if "C[vi] = A[vi]\n" in text else 2
    got = run(lower(lowering.keep_written_kernels(parse(text))), x)
    np.testing.assert_allclose(got, np.maximum(factor * x, 0), rtol=1e-6)


def test_without_the_mark_fusion_fails_which_is_why_there_is_one():
    with pytest.raises(Exception, match="Inconsistent buffers"):
        lower(parse(program(result="R.add(R.nn.relu(lv), R.const(1.0))")))


def test_planned_memory_is_the_sum_of_all_storage():
    lowered = lower(lowering.keep_written_kernels(parse(program())))
    assert lowering.planned_memory_bytes(lowered) == 2 * 64 * 4
    # Of three intermediates in a row, the first one's storage serves the third.
    chain = parse(program(result="R.nn.softmax(R.matmul(R.reshape(lv, (8, 8)), R.reshape(lv, (8, 8))))")
                  .replace('-> R.Tensor((64,), "float32")', ""))  # fmt: skip
    planned = lowering.planned_memory_bytes(lower(lowering.keep_written_kernels(chain)))
    assert planned is not None
    assert planned >= 2 * 64 * 4
