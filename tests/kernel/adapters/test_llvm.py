from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError, UsageError
from edgelab.kernel import adapters, lowering
from edgelab.kernel.adapters import llvm
from tests.support.programs import program

pytestmark = pytest.mark.integration


def built(text: str = program()):
    backend = adapters.adapter("llvm")
    target = backend.target(None)
    module = lowering.keep_written_kernels(tvm.script.from_source(text))
    return backend, backend.build(backend.lower(module, target), target)


def test_the_registry_knows_llvm_and_refuses_others():
    assert "llvm" in adapters.names()
    assert adapters.adapter("llvm").name == "llvm"
    with pytest.raises(UsageError, match="llvm"):
        adapters.adapter("verilog")


def test_an_exported_library_loads_and_computes(tmp_path: Path):
    backend, executable = built()
    backend.export(executable, tmp_path / "kernel.so")
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "kernel.so")), tvm.cpu())
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    np.testing.assert_allclose(machine["main"](tvm.runtime.tensor(x)).numpy(), np.maximum(2 * x, 0))


def test_the_source_is_llvm_ir_of_the_kernels():
    backend, executable = built()
    assert "define" in backend.source(executable)
    assert "scale" in backend.source(executable)


def test_a_target_for_another_cpu_is_taken_as_it_is():
    target = llvm.LlvmAdapter().target({"kind": "llvm", "mcpu": "x86-64-v2", "num-cores": 3})
    assert target.attrs["mcpu"] == "x86-64-v2"


def test_a_loop_on_gpu_threads_is_a_parallel_failure():
    text = program(body='for i in T.thread_binding(64, thread="threadIdx.x"):\n    C[i] = A[i]')
    with pytest.raises(EvaluationFailure, match=r"threadIdx\.x") as caught:
        built(text)
    assert caught.value.failure_class is FailureClass.PARALLEL


def test_the_host_is_described_by_llvm():
    host = llvm.host_target()
    assert host.mcpu
    assert host.num_cores >= 1
    assert host.target["mcpu"] == host.mcpu
    assert host.target["num-cores"] == host.num_cores
    tvm.target.Target(host.target)


def test_features_that_the_hypervisor_hides_are_found(tmp_path: Path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx avx2 fma avx512_vnni bmi1\nprocessor\t: 1\n")
    known = {"avx", "avx2", "fma", "avx512vnni", "avx512f", "bmi", "fast-15bytenop", "f16c"}
    assert llvm.hidden_features(known, cpuinfo) == ["avx512f", "f16c"]


def test_without_x86_flags_nothing_is_hidden(tmp_path: Path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert llvm.hidden_features({"avx", "neon"}, tmp_path / "cpuinfo") == []
    assert llvm.hidden_features({"avx"}, tmp_path / "missing") == []


def test_hidden_features_are_switched_off_in_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(llvm.codegen, "llvm_get_cpu_features", lambda _target: {"avx2", "avx512f"})
    (tmp_path / "cpuinfo").write_text("flags : avx avx2\n")
    assert llvm.host_target(tmp_path / "cpuinfo").target["mattr"] == ["-avx512f"]


def test_without_a_compiler_the_message_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(NotReadyError, match=r"Install gcc\."):
        llvm.link("x.so", [])


def test_objects_that_cannot_be_linked_are_the_programs_fault(tmp_path: Path):
    (tmp_path / "a.o").write_text("not an object")
    with pytest.raises(EvaluationFailure, match="kernels cannot be linked: ") as caught:
        llvm.link(str(tmp_path / "x.so"), [str(tmp_path / "a.o")])
    assert caught.value.failure_class is FailureClass.SYNTAX_API
    assert not (tmp_path / "x.so").exists()


def test_a_compiler_that_links_nothing_keeps_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no space left >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(compiler))
    with pytest.raises(NotReadyError, match="Linking failed: no space left"):
        llvm.link(str(tmp_path / "x.so"), [])


def run(backend: llvm.LlvmAdapter, executable: object, folder: Path, x: np.ndarray) -> np.ndarray:
    path = folder / f"kernel-{len(list(folder.iterdir()))}.so"
    backend.export(executable, path)
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
    return machine["main"](tvm.runtime.tensor(x)).numpy()


def test_an_edited_source_takes_the_place_of_the_generated_one(tmp_path: Path):
    backend, executable = built()
    source = backend.source(executable)
    twice, thrice = "float 2.000000e+00", "float 3.000000e+00"
    assert twice in source
    edited = backend.with_source(executable, source.replace(twice, thrice))
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    np.testing.assert_allclose(run(backend, edited, tmp_path, x), np.maximum(3 * x, 0))
    np.testing.assert_allclose(
        run(backend, executable, tmp_path, x), np.maximum(2 * x, 0), err_msg="the original"
    )
    assert thrice in backend.source(edited)


def test_the_generated_source_put_back_changes_nothing(tmp_path: Path):
    text = program(body="for i in T.parallel(8):\n    for j in range(8):\n"
                        "        C[i * 8 + j] = T.exp(A[i * 8 + j]) * T.erf(A[j])",
                   result="R.nn.softmax(R.matmul(R.reshape(lv, (8, 8)), R.reshape(lv, (8, 8))))")  # fmt: skip
    backend, executable = built(text.replace('-> R.Tensor((64,), "float32")', ""))
    same = backend.with_source(executable, backend.source(executable))
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    np.testing.assert_array_equal(
        run(backend, same, tmp_path, x).tobytes(), run(backend, executable, tmp_path, x).tobytes()
    )


def test_a_changed_interface_is_refused():
    backend, executable = built()
    source = backend.source(executable).replace("@__tvm_ffi_scale(", "@__tvm_ffi_other(")
    with pytest.raises(EvaluationFailure, match="@__tvm_ffi_scale was removed or renamed") as caught:
        backend.with_source(executable, source)
    assert caught.value.failure_class is FailureClass.SYNTAX_API


def test_an_edit_that_llvm_cannot_read_names_the_line():
    backend, executable = built()
    source = backend.source(executable).replace("ret i32 %common.ret.op", "ret i64 %common.ret.op")
    with pytest.raises(EvaluationFailure, match=r"not valid: line \d+, column \d+: .*in: ret i64") as caught:
        backend.with_source(executable, source)
    assert caught.value.failure_class is FailureClass.SYNTAX_API


ARM = {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a78", "num-cores": 8}


def built_for_arm():
    backend = llvm.LlvmAdapter()
    target = backend.target(ARM)
    module = lowering.keep_written_kernels(tvm.script.from_source(program()))
    return backend, backend.build(backend.lower(module, target), target)


@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-gcc") is None or not Path("/usr/aarch64-linux-gnu/lib/crti.o").exists(),
    reason="needs Debian's gcc-aarch64-linux-gnu and libc6-dev-arm64-cross",
)
@pytest.mark.parametrize("edited", [False, True], ids=["generated", "edited"])
def test_a_program_is_built_for_aarch64(tmp_path: Path, edited: bool):
    backend, executable = built_for_arm()
    if edited:
        executable = backend.with_source(executable, backend.source(executable).replace("2.0000", "3.0000"))
    backend.export(executable, tmp_path / "kernel.so")
    header = (tmp_path / "kernel.so").read_bytes()[:20]
    assert header[:6] == b"\x7fELF\x02\x01", "64 bits, little endian"
    assert int.from_bytes(header[16:18], "little") == 3, "a shared object"
    assert int.from_bytes(header[18:20], "little") == 183, "for AArch64"


@pytest.mark.skipif(os.uname().machine == "aarch64", reason="this machine needs no cross linker")
def test_without_a_cross_linker_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    backend, executable = built_for_arm()
    monkeypatch.setattr(
        shutil, "which", lambda name: None if name.startswith("aarch64") else f"/usr/bin/{name}"
    )
    with pytest.raises(NotReadyError, match=r"aarch64-linux-gnu-gcc.*gcc-aarch64-linux-gnu"):
        backend.export(executable, tmp_path / "kernel.so")
