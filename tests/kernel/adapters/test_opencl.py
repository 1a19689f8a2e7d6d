from __future__ import annotations

from pathlib import Path

import pytest
import tvm
import tvm_ffi

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import adapters, lowering
from edgelab.kernel.guard import GuardRefusal
from tests.kernel.task_programs import build
from tests.support.programs import program

pytestmark = pytest.mark.integration

BOUND = program(
    body="for b in T.thread_binding(2, thread='blockIdx.x'):\n"
    "    for t in T.thread_binding(32, thread='threadIdx.x'):\n"
    "        with T.sblock('C'):\n"
    "            vi = T.axis.spatial(64, b * 32 + t)\n"
    "            C[vi] = A[vi] * T.float32(2)"
)


def lowered(text: str) -> tvm.IRModule:
    backend = adapters.adapter("opencl")
    return backend.lower(lowering.keep_written_kernels(tvm.script.from_source(text)), backend.target(None))


def test_it_is_registered_and_the_target_gets_this_cpu_as_host():
    assert adapters.names() == ("cuda", "llvm", "opencl")
    target = adapters.adapter("opencl").target({"kind": "opencl", "max_num_threads": 512})
    assert target.attrs["max_num_threads"] == 512
    assert target.host.kind.name == "llvm"


def test_every_kernel_binds_threads_and_lowering_is_deterministic():
    first, second = lowered(program()), lowered(program())
    assert tvm_ffi.structural_equal(first, second)
    script = first.script()
    assert lowering.called_kernels(first) == ("scale", "relu")
    assert script.count("blockIdx.x") >= 2
    assert lowering.planned_memory_bytes(first) == 512


def test_a_kernel_that_binds_its_own_threads_stays_as_written():
    assert tvm_ffi.structural_equal(
        lowered(BOUND)["scale"].body, tvm.script.from_source(BOUND)["scale"].body, map_free_vars=True
    )


def test_a_kernel_that_cannot_be_scheduled_is_a_parallel_failure():
    text = program(body="for i in range(64):\n    C[i] = A[i]").replace(", s_tir=True", "")
    with pytest.raises(EvaluationFailure, match="kernel scale binds no loop to GPU threads") as caught:
        lowered(text)
    assert caught.value.failure_class is FailureClass.PARALLEL
    assert "T.thread_binding" in caught.value.advice


def test_the_source_is_opencl_c_and_comes_back_unchanged():
    backend, executable = build(program(), {}, "opencl")
    source = backend.source(executable)
    assert source.startswith("// Function: scale_kernel")
    assert "__kernel void relu_kernel(" in source
    assert backend.source(backend.with_source(executable, source)) == source


def test_an_edit_is_part_of_the_artefact(tmp_path: Path):
    backend, executable = build(program(), {}, "opencl")
    edited = backend.with_source(
        executable, backend.source(executable).replace("2.000000e+00f", "native_exp(3.141592e+00f)")
    )
    backend.export(edited, tmp_path / "kernel.so")
    assert b"native_exp(3.141592e+00f)" in (tmp_path / "kernel.so").read_bytes()
    assert "native_exp" not in backend.source(executable)


def test_a_changed_interface_and_hostile_text_are_refused():
    backend, executable = build(program(), {}, "opencl")
    source = backend.source(executable)
    with pytest.raises(GuardRefusal, match="was added") as caught:
        backend.with_source(executable, source.replace("scale_kernel", "other_kernel"))
    assert caught.value.failure_class is FailureClass.SYNTAX_API
    with pytest.raises(GuardRefusal, match="output") as caught:
        backend.with_source(executable, source.replace(" {\n", ' {\n  printf("x");\n', 1))
    assert caught.value.failure_class is FailureClass.HACK
    with pytest.raises(EvaluationFailure, match="must keep the lines `// Function"):
        backend.with_source(executable, source.replace("// Function: relu_kernel\n", ""))


def test_no_callback_is_left_behind():
    build(program(), {}, "opencl")
    assert tvm_ffi.get_global_func("tvm_callback_opencl_postproc", allow_missing=True) is None
