from __future__ import annotations

import gc
import struct
from pathlib import Path

import numpy as np
import psutil
import pytest
import tvm
import tvm_ffi
from tvm import relax

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.worker.failures import MEMORY, classify_message
from tests.kernel.task_programs import build, run, task_program
from tests.support.programs import program

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("opencl")]

X = np.random.default_rng(0).uniform(-1, 1, 64).astype(np.float32)
SQUARE = "R.reshape(lv, (8, 8))"


def with_result(result: str, value: str = "A[vi] * T.float32(2)") -> str:
    return program(value, result=result).replace('-> R.Tensor((64,), "float32")', "")


def threads(groups: int, items: int, value: str = "A[vi] * T.float32(2)", local: str = "") -> str:
    """A kernel that binds its own threads: `groups` work groups of `items` work items each."""
    return program(
        body=f"{local}for b in T.thread_binding({groups}, thread='blockIdx.x'):\n"
        f"    for t in T.thread_binding({items}, thread='threadIdx.x'):\n"
        "        with T.sblock('C'):\n"
        f"            vi = T.axis.spatial(64, (b * {items} + t) % 64)\n"
        f"            C[vi] = {value}"
    )


PROGRAMS = {
    "elementwise": program(),
    "maths": program("T.exp(A[vi]) + T.tanh(A[vi]) * T.sigmoid(A[vi]) + T.sqrt(T.fabs(A[vi]))"),
    "own threads": threads(2, 32),
    "integers": program('T.cast(T.floordiv(T.cast(vi, "int32"), 3) * 2 - 5, "float32") * A[vi]'),
    "matmul and softmax": with_result(f"R.nn.softmax(R.matmul({SQUARE}, {SQUARE}))"),
    "reduction": with_result(f"R.mean({SQUARE}, axis=1)"),
    "transpose and concat": with_result(f"R.concat((R.permute_dims({SQUARE}, axes=[1, 0]), {SQUARE}), axis=0)"),
    "layer norm": with_result(
        f"R.nn.layer_norm({SQUARE}, R.reshape(R.ones((8,), 'float32'), (8,)), R.zeros((8,), 'float32'), axes=[-1])"
    ),
    "bytes": with_result("R.astype(R.astype(R.multiply(lv, R.const(50.0)), 'int8'), 'float32')"),
    "argmax": with_result(f"R.argmax({SQUARE}, axis=1)"),
}  # fmt: skip


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_opencl_computes_what_llvm_does(text: str, tmp_path: Path):
    results = {}
    for kind in ("llvm", "opencl"):
        if kind == "llvm" and "threadIdx" in text:
            results[kind] = [np.maximum(2 * X, 0)]
            continue
        backend, executable = build(text, {}, kind)
        results[kind] = run(backend, executable, [X], tmp_path / f"{kind}.so")
    for got, expected in zip(results["opencl"], results["llvm"], strict=True):
        assert got.dtype == expected.dtype
        assert np.ptp(expected) > 0, "a constant would prove nothing"
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


TASKS = (
    "conv10x4_s2_kws", "layernorm_deit", "argmax_vocab_qwen", "gqa_prefill_attn_smollm2", "dequant_int8_matmul_tinyllama",
    "residual_add_rmsnorm",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_tasks_compute_what_llvm_does(name: str, tmp_path: Path):
    task = task_program(name)
    results = []
    for kind in ("llvm", "opencl"):
        backend, executable = build(task.imported.program.text, task.imported.params, kind)
        results.append(run(backend, executable, task.inputs, tmp_path / f"{kind}.so"))
    for expected, got in zip(*results, strict=True):
        # Both backends compute in float32; only the order of sums differs.
        scale = np.abs(expected.astype(np.float64)).max()
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5 * scale)


def test_an_edited_source_runs(tmp_path: Path):
    backend, executable = build(program(), {}, "opencl")
    source = backend.source(executable)
    assert source.count("2.000000e+00f") == 1
    edited = backend.with_source(executable, source.replace("2.000000e+00f", "3.000000e+00f"))
    (got,) = run(backend, edited, [X], tmp_path / "edited.so")
    np.testing.assert_allclose(got, np.maximum(3 * X, 0), rtol=1e-6)
    (got,) = run(backend, executable, [X], tmp_path / "original.so")
    np.testing.assert_allclose(got, np.maximum(2 * X, 0), rtol=1e-6)


def test_a_source_that_does_not_compile_gives_the_build_log(tmp_path: Path):
    backend, executable = build(program(), {}, "opencl")
    source = backend.source(executable)
    edited = backend.with_source(executable, source.replace("2.000000e+00f);", "2.000000e+00f) + ;"))
    with pytest.raises(
        RuntimeError,
        match=r"cannot build the program: CL_BUILD_PROGRAM_FAILURE[\s\S]*error: .*expected expression",
    ):
        run(backend, edited, [X], tmp_path / "wrong.so")


def test_a_work_group_that_is_too_large_is_named(tmp_path: Path):
    items = 2 * tvm.device("opencl", 0).max_threads_per_block
    backend, executable = build(
        threads(1, items),
        {},
        "opencl",
        {"kind": "opencl", "max_num_threads": items, "max_threads_per_block": items},
    )
    with pytest.raises(
        RuntimeError, match=rf"kernel scale_kernel needs a work group of {items} x 1 x 1 = {items} .*allows"
    ):
        run(backend, executable, [X], tmp_path / "large.so")


def test_more_local_memory_than_there_is_is_named(tmp_path: Path):
    floats = tvm.device("opencl", 0).max_shared_memory_per_block // 4 + 1024
    text = program(
        body=f"S = T.sblock_alloc_buffer(({floats},), 'float32', scope='shared')\n"
        "for b in T.thread_binding(1, thread='blockIdx.x'):\n"
        "    for t in T.thread_binding(64, thread='threadIdx.x'):\n"
        f"        for i in range({floats // 64}):\n"
        "            with T.sblock('S'):\n"
        f"                vs = T.axis.spatial({floats}, i * 64 + t)\n"
        "                S[vs] = A[vs % 64]\n"
        "        with T.sblock('C'):\n"
        "            vi = T.axis.spatial(64, t)\n"
        f"            C[vi] = S[{floats - 64} - vi]"
    )  # fmt: skip
    backend, executable = build(
        text,
        {},
        "opencl",
        {"kind": "opencl", "max_num_threads": 256, "max_shared_memory_per_block": 4 * floats},
    )
    assert f"S_ptr[{floats}]" in backend.source(executable), "the compiler did not shrink the buffer"
    with pytest.raises(RuntimeError, match=r"kernel scale_kernel needs \d{7,} bytes of local memory; .* has"):
        run(backend, executable, [X], tmp_path / "local.so")


def test_a_buffer_larger_than_the_device_allows_is_out_of_memory():
    with pytest.raises(RuntimeError, match="OpenCL is out of memory: a buffer of ") as caught:
        tvm.runtime.empty((1 << 40,), "float32", tvm.device("opencl", 0))
    assert classify_message(str(caught.value)) == MEMORY


def test_the_device_describes_itself(opencl: tuple[str, ...]):
    device = tvm.device("opencl", 0)
    assert device.exist
    assert device.device_name == opencl[0]
    assert device.multi_processor_count >= 1
    assert device.max_shared_memory_per_block >= 1024
    assert device.total_global_memory > 2**20
    assert len(device.max_thread_dimensions) == 3
    assert not tvm.device("opencl", len(opencl)).exist


def test_copies_go_both_ways_and_between_buffers():
    device = tvm.device("opencl", 0)
    for dtype in ("float32", "float16", "int8", "uint8", "int64", "bool"):
        values = np.arange(35).reshape(5, 7).astype(dtype)
        there = tvm.runtime.tensor(values, device)
        np.testing.assert_array_equal(there.copyto(device).numpy(), values)
    assert tvm.runtime.tensor(np.zeros((0, 3), "float32"), device).numpy().shape == (0, 3)


def test_the_timer_measures_on_the_device(tmp_path: Path):
    backend, executable = build(program("T.exp(A[vi]) * T.exp(A[63 - vi])"), {}, "opencl")
    backend.export(executable, tmp_path / "timed.so")
    device = tvm.device("opencl", 0)
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "timed.so")), device)
    one = machine.time_evaluator("main", device, number=20, repeat=5)(tvm.runtime.tensor(X, device)).results
    many = machine.time_evaluator("main", device, number=200, repeat=1)(tvm.runtime.tensor(X, device)).results
    assert all(0 < seconds < 0.1 for seconds in (*one, *many))


def test_a_damaged_module_is_refused():
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.opencl")

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    whole = (
        text("cl")
        + struct.pack("<Q", 1)
        + text("k")
        + text("k")
        + struct.pack("<QQQ", 0, 0, 0)
        + text("kernel")
    )
    assert load(whole).inspect_source() == "kernel"
    for damaged, reason in (
        (b"", "is cut short"),
        (whole[:-1], "is cut short"),
        (whole + b"x", "bytes left over"),
        (text("spv") + whole[10:], "format spv"),
        (text("cl") + struct.pack("<Q", 2**62), "is cut short"),
    ):
        with pytest.raises(ValueError, match=reason):
            load(damaged)


def test_cumsum_which_would_be_wrong_is_refused():
    with pytest.raises(EvaluationFailure, match=r"relax\.cumsum, whose kernel gives wrong results") as caught:
        build(program(result="R.cumsum(lv)"), {}, "opencl")
    assert caught.value.failure_class is FailureClass.SYNTAX_API


def test_loading_running_and_freeing_leaks_nothing(tmp_path: Path):
    backend, executable = build(program(), {}, "opencl")
    backend.export(executable, tmp_path / "kernel.so")
    device, process = tvm.device("opencl", 0), psutil.Process()
    empty_pool = tvm_ffi.get_global_func("vm.builtin.memory_manager.clear")

    def once() -> None:
        machine = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "kernel.so")), device)
        large = tvm.runtime.tensor(np.ones(2**18, np.float32), device)
        np.testing.assert_allclose(
            machine["main"](tvm.runtime.tensor(X, device)).numpy(), np.maximum(2 * X, 0)
        )
        del machine, large
        empty_pool()

    for _ in range(20):
        once()
    gc.collect()
    before, files, running = process.memory_info().rss, process.num_fds(), process.num_threads()
    for _ in range(200):
        once()
    gc.collect()
    assert process.memory_info().rss - before < 4 * 2**20, (
        "200 leaked buffers would be 200 MiB, 200 programs 20 MiB"
    )
    assert process.num_fds() <= files
    assert process.num_threads() <= running
