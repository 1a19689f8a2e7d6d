from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import tvm

from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError, UsageError
from edgelab.kernel.adapters import adapter, cuda
from edgelab.kernel.guard import GuardRefusal
from edgelab.worker import cuda_image
from tests.kernel.task_programs import build, task_program
from tests.support.programs import program

pytestmark = pytest.mark.integration

ORIN = {"kind": "cuda", "arch": "sm_87"}
HOPPER = {"kind": "cuda", "arch": "sm_90"}
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc (CUDA toolkit)")
CUBIN = b"\x7fELF\x02\x01"


@pytest.fixture
def without_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "nvcc" else found(name))


def test_a_target_needs_an_architecture():
    backend = adapter("cuda")
    for description in (None, {"kind": "cuda"}, {"kind": "cuda", "arch": "sm_87; rm"}):
        with pytest.raises(UsageError, match="architecture"):
            backend.target(description)
    target = backend.target({**ORIN, "max_threads_per_block": 512})
    assert target.attrs["max_threads_per_block"] == 512
    assert target.attrs["max_shared_memory_per_block"] == 49152
    assert target.host.kind.name == "llvm"


@pytest.mark.usefixtures("without_nvcc")
def test_without_nvcc_there_is_source_but_no_artefact(tmp_path: Path):
    backend, executable = build(program(), {}, "cuda", ORIN)
    source = backend.source(executable)
    assert 'extern "C" __global__ void' in source
    edited = backend.with_source(executable, source.replace("0x1p+1f", "0x1.8p+1f"))
    assert "0x1.8p+1f" in backend.source(edited)
    with pytest.raises(NotReadyError, match=r"nvcc.*was not found.*CUDA toolkit"):
        backend.export(executable, tmp_path / "kernel.so")
    assert not (tmp_path / "kernel.so").exists()


def test_the_source_comes_back_unchanged_and_edits_are_checked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cuda, "compile_kernels", lambda code, _architecture, _compiler: CUBIN + code.encode())
    backend, executable = build(program(), {}, "cuda", ORIN)
    source = backend.source(executable)
    assert backend.source(backend.with_source(executable, source)) == source
    with pytest.raises(GuardRefusal, match="was added") as caught:
        backend.with_source(executable, source.replace("scale_kernel", "other_kernel"))
    assert caught.value.failure_class is FailureClass.SYNTAX_API
    hostile = re.sub(r"(scale_kernel\([^;{]*\) \{\n)", r'\1  asm("trap;");\n', source)
    with pytest.raises(GuardRefusal, match="inline assembly") as caught:
        backend.with_source(executable, hostile)
    assert caught.value.failure_class is FailureClass.HACK


@needs_nvcc
@pytest.mark.parametrize("target", [ORIN, HOPPER], ids=["sm_87", "sm_90"])
def test_the_artefact_holds_machine_code_for_the_architecture(tmp_path: Path, target: dict[str, str]):
    backend, executable = build(program(), {}, "cuda", target)
    backend.export(executable, tmp_path / "kernel.so")
    library = (tmp_path / "kernel.so").read_bytes()
    text = re.search(rb"// EdgeLab: machine code in base64\n[A-Za-z0-9+/=]+", library)
    assert text is not None
    image = cuda_image.decode(text[0].decode())
    assert image.startswith(CUBIN)
    assert int.from_bytes(image[18:20], "little") == 190, "EM_CUDA"
    assert b"__global__" not in library, "machine code travels, not source"


def test_machine_code_travels_as_text_and_nothing_else_is_taken_for_it():
    image = bytes(range(256))
    assert cuda_image.decode(cuda_image.encode(image)) == image
    with pytest.raises(ValueError, match="holds CUDA source"):
        cuda_image.decode("__global__ void f() {}")
    with pytest.raises(ValueError, match=r"base64|Non-base64|padding"):
        cuda_image.decode(cuda_image.encode(image) + "!")


@needs_nvcc
def test_an_edit_that_nvcc_refuses_keeps_its_words():
    backend, executable = build(program(), {}, "cuda", ORIN)
    source = backend.source(executable).replace("0x1p+1f", "0x1p+1f +")
    with pytest.raises(
        EvaluationFailure, match=r"nvcc refuses the kernels: kernels\.cu\(\d+\): error: "
    ) as caught:
        backend.with_source(executable, source)
    assert caught.value.failure_class is FailureClass.SYNTAX_API


@needs_nvcc
def test_more_shared_memory_than_the_gpu_has_is_a_memory_failure():
    text = program(
        body="S = T.sblock_alloc_buffer((60000,), 'float32', scope='shared')\n"
        "for b in T.thread_binding(1, thread='blockIdx.x'):\n"
        "    for t in T.thread_binding(64, thread='threadIdx.x'):\n"
        "        for i in range(937):\n"
        "            with T.sblock('S'):\n"
        "                vs = T.axis.spatial(60000, i * 64 + t)\n"
        "                S[vs] = A[vs % 64]\n"
        "        with T.sblock('C'):\n"
        "            vi = T.axis.spatial(64, t)\n"
        "            C[vi] = S[59960 - vi]"
    )
    with pytest.raises(EvaluationFailure) as caught:
        build(text, {}, "cuda", {**ORIN, "max_shared_memory_per_block": 2**20})
    assert caught.value.failure_class is FailureClass.MEMORY
    assert "shared data" in caught.value.message


def test_a_compiler_that_hangs_is_a_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(cuda, "_COMPILE_TIME_LIMIT_S", 0.2)
    with pytest.raises(EvaluationFailure, match=r"longer than 0\.2 s") as caught:
        cuda.compile_kernels("", "sm_87", str(compiler))
    assert caught.value.failure_class is FailureClass.TIMEOUT


TASKS = (
    "conv10x4_s2_kws", "dw5x5_mnv3_small", "pw_expand_mnv2", "gemv_q_tinyllama", "gemm_qkv_deit", "hardswish_mnv3",
    "layernorm_deit", "rmsnorm_prefill_qwen25", "softmax_attn_deit", "argmax_vocab_qwen", "channel_shuffle_g2",
    "gqa_prefill_attn_smollm2", "dequant_int8_matmul_tinyllama",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_tasks_give_cuda_source_that_compiles(name: str):
    task = task_program(name)
    backend, executable = build(task.imported.program.text, task.imported.params, "cuda", ORIN)
    assert backend.source(executable).count('extern "C" __global__') >= 1
    assert executable.compiled == (shutil.which("nvcc") is not None)
    assert isinstance(executable.mod, tvm.runtime.Module)
