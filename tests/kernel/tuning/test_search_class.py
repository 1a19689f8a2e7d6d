"""Classes by structure, on what TVM makes of Relax operators; digests that are the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import tvm
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline
from tvm.tirx import PrimFunc

from edgelab.kernel.tuning import kernels
from edgelab.kernel.tuning.protocol import KernelTensor, SearchClass
from edgelab.kernel.tuning.search_class import search_class

pytestmark = pytest.mark.integration

HEAD = (
    "@I.ir_module\nclass Module:\n    @R.function\n    def main({signature}):\n        with R.dataflow():\n"
)
TENSOR = '{name}: R.Tensor({shape}, "{dtype}")'


def fused(*lines: str, **shapes: tuple[int, ...] | tuple[tuple[int, ...], str]) -> PrimFunc:
    """The only kernel that TVM's default pipeline makes of `lines`, whose last one assigns `out`."""
    described = {
        name: shape if isinstance(shape[-1], str) else (shape, "float32") for name, shape in shapes.items()
    }
    signature = ", ".join(
        TENSOR.format(name=name, shape=shape, dtype=dtype) for name, (shape, dtype) in described.items()
    )
    body = "".join(f"            {line}\n" for line in lines)
    text = HEAD.format(signature=signature) + body + "            R.output(out)\n        return out\n"
    module = tvm.script.from_source(text)
    target = tvm.target.Target({"kind": "llvm"})
    passes = [relax.transform.DecomposeOpsForInference(), *pipeline.legalize_passes(target)]
    with target:
        module = tvm.transform.Sequential(passes)(module)
    (kernel,) = (function for function in module.functions.values() if isinstance(function, PrimFunc))
    return kernel


CONV = {"x": (1, 16, 12, 12), "w": (32, 16, 3, 3)}
CASES = {
    "relu": (SearchClass.INJECTIVE, ["out = R.nn.relu(x)"], {"x": (4, 8)}),
    "transpose": (SearchClass.INJECTIVE, ["out = R.permute_dims(x, axes=[1, 0])"], {"x": (4, 8)}),
    "padding": (SearchClass.INJECTIVE, ["out = R.nn.pad(x, [1, 1, 0, 0])"], {"x": (4, 8)}),
    "sum": (SearchClass.REDUCTION, ["out = R.sum(x, axis=[1])"], {"x": (4, 8)}),
    "mean": (SearchClass.REDUCTION, ["out = R.mean(x, axis=[1])"], {"x": (4, 8)}),
    "argmax": (SearchClass.REDUCTION, ["out = R.argmax(x, axis=1)"], {"x": (4, 8)}),
    "max_pool": (SearchClass.REDUCTION, ["out = R.nn.max_pool2d(x, pool_size=[2, 2])"], {"x": (1, 4, 8, 8)}),
    "depthwise": (
        SearchClass.GROUPED_CONVOLUTION,
        ["a = R.nn.conv2d(x, w, groups=16, padding=[1, 1])", "out = R.nn.relu(a)"],
        {"x": (1, 16, 12, 12), "w": (16, 1, 3, 3)},
    ),
    "grouped": (
        SearchClass.GROUPED_CONVOLUTION,
        ["out = R.nn.conv2d(x, w, groups=4)"],
        {"x": (1, 16, 12, 12), "w": (32, 4, 3, 3)},
    ),
    "convolution": (SearchClass.CONVOLUTION, ["out = R.nn.conv2d(x, w, padding=[1, 1])"], CONV),
    "convolution_relu": (
        SearchClass.CONVOLUTION,
        ["a = R.nn.conv2d(x, w, strides=[2, 2])", "out = R.nn.relu(a)"],
        CONV,
    ),
    "convolution_1d": (
        SearchClass.CONVOLUTION,
        ["out = R.nn.conv1d(x, w)"],
        {"x": (1, 8, 20), "w": (4, 8, 3)},
    ),
    "nhwc": (
        SearchClass.CONVOLUTION,
        ['out = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")'],
        {"x": (1, 12, 12, 16), "w": (3, 3, 16, 32)},
    ),
    "matmul": (SearchClass.MATMUL, ["out = R.matmul(x, w)"], {"x": (4, 8), "w": (8, 6)}),
    "dense": (
        SearchClass.MATMUL,
        ["a = R.matmul(x, w)", "b = R.add(a, c)", "out = R.nn.relu(b)"],
        {"x": (4, 8), "w": (8, 6), "c": (6,)},
    ),
    "batched": (SearchClass.MATMUL, ["out = R.matmul(x, w)"], {"x": (2, 4, 8), "w": (2, 8, 6)}),
    "gemv": (SearchClass.MATMUL, ["out = R.matmul(x, w)"], {"x": (8,), "w": (8, 6)}),
    "softmax": (SearchClass.COMPOSITE, ["out = R.nn.softmax(x, axis=-1)"], {"x": (4, 8)}),
}


@pytest.mark.parametrize("name", CASES)
def test_class(name):
    wanted, lines, shapes = CASES[name]
    assert search_class(fused(*lines, **shapes)) is wanted


def test_layer_norm_is_composite():
    kernel = fused("out = R.nn.layer_norm(x, g, b, axes=[-1])", x=(4, 8), g=(8,), b=(8,))
    assert search_class(kernel) is SearchClass.COMPOSITE


def test_a_kernel_of_static_tensors_can_be_tuned_and_describes_them():
    kernel = fused(*CASES["matmul"][1], **CASES["matmul"][2])
    assert kernels.why_untunable(kernel) == ""
    assert kernels.tensors(kernel) == (
        KernelTensor((4, 8), "float32"),
        KernelTensor((8, 6), "float32"),
        KernelTensor((4, 6), "float32"),
    )


def test_a_scheduled_kernel_is_not_tuned_again():
    kernel = fused(*CASES["matmul"][1], **CASES["matmul"][2])
    assert "scheduled" in kernels.why_untunable(kernels.scheduled(kernel, kernel))


def test_the_digest_ignores_what_a_program_calls_the_kernel():
    kernel = fused(*CASES["matmul"][1], **CASES["matmul"][2])
    renamed = kernel.with_attr("global_symbol", "something_else").with_attr("op_pattern", 4)
    assert kernels.digest(kernels.alone(renamed)) == kernels.digest(kernels.alone(kernel))


def test_different_shapes_have_different_digests():
    lines = CASES["matmul"][1]
    one, other = fused(*lines, x=(4, 8), w=(8, 6)), fused(*lines, x=(4, 8), w=(8, 7))
    assert kernels.digest(kernels.alone(one)) != kernels.digest(kernels.alone(other))


def test_the_digest_is_the_same_in_every_process():
    code = (
        "from tests.kernel.tuning.test_search_class import CASES, fused, kernels\n"
        "print(kernels.digest(kernels.alone(fused(*CASES['dense'][1], **CASES['dense'][2]))))"
    )
    here = kernels.digest(kernels.alone(fused(*CASES["dense"][1], **CASES["dense"][2])))
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            timeout=120,
        )
        assert done.stdout.strip() == here
