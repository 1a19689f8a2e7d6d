from __future__ import annotations

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
