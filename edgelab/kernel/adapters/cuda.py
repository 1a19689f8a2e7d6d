"""CUDA backend: kernels as CUDA C++, compiled to machine code by nvcc where there is one; no GPU is needed for that."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import tvm
from tvm.relax.backend.cuda import pipeline

from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError, UsageError
from edgelab.kernel.adapters import device_source, gpu_lowering
from edgelab.kernel.adapters.llvm import host_target, link
from edgelab.kernel.diagnostics import clip
from edgelab.kernel.source_guard import cuda as guard
from edgelab.worker import cuda_image

_ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?")
_COMPILE_TIME_LIMIT_S = 120.0
_EVERY_GPU: dict[str, Any] = {
    "max_threads_per_block": 1024,
    "max_num_threads": 1024,
    "thread_warp_size": 32,
    "max_shared_memory_per_block": 49152,
}
"""What a kernel may use without asking for more, on every GPU since sm_50 (CUDA programming guide)."""
_SHARED_MEMORY = re.compile(r"uses too much (?:shared|local|constant|const) (?:data|memory)")
_ERROR = re.compile(r"^.*\berror\b.*$|^ptxas.*$", re.MULTILINE)


class CudaAdapter:
    """Lowers with the fused CUDA pipeline and TVM's default GPU schedules.

    Without nvcc a program can still be lowered and its source be read and edited; `export` then refuses.
    """

    name = "cuda"
    source_suffix = ".cu"

    def target(self, description: dict[str, Any] | None) -> tvm.target.Target:
        """The described target, which names its `arch`; the host is this CPU unless it says other.

        Raises UsageError without an architecture: that of a GPU is in its device profile.
        """
        wanted: dict[str, Any] = {"kind": "cuda"} if description is None else dict(description)
        if not _ARCHITECTURE.fullmatch(str(wanted.get("arch", ""))):
            raise UsageError(
                "A cuda target needs the architecture of the GPU.",
                advice='Give the target an arch, such as "sm_87" for Jetson AGX Orin.',
            )
        wanted.setdefault("host", host_target().target)
        return tvm.target.Target({**_EVERY_GPU, **wanted})

    def lower(self, module: tvm.IRModule, target: tvm.target.Target) -> tvm.IRModule:
        """See `gpu_lowering.lower`."""
        return gpu_lowering.lower(module, target, pipeline)

    def build(self, lowered: tvm.IRModule, target: tvm.target.Target) -> device_source.DeviceExecutable:
        """Executable with the machine code of all kernels, or without any where nvcc is missing.

        Raises EvaluationFailure (syntax_api, or memory) with nvcc's words for a kernel it refuses.
        """
        return _generate(lowered, target)

    def source(self, executable: device_source.DeviceExecutable) -> str:
        """CUDA C++ of all kernels."""
        return executable.source

    def with_source(
        self, executable: device_source.DeviceExecutable, source: str
    ) -> device_source.DeviceExecutable:
        """See Adapter."""
        guard.check(source, executable.source)
        edit = device_source.edit_of(executable.source, source)
        return _generate(executable.lowered, executable.target, edit)

    def export(self, executable: device_source.DeviceExecutable, path: Path) -> None:
        """Shared library at `path` for the target's host.

        Raises NotReadyError for a program that was not compiled because nvcc is missing, and what
        `llvm.link` raises.
        """
        if not executable.compiled:
            raise NotReadyError(
                "The program was translated to CUDA C++, but nvcc, which compiles it, was not found.",
                advice="Install the CUDA toolkit and put nvcc on the PATH; no GPU is needed.",
            )
        executable.machine.export_library(str(path), fcompile=link)


def _generate(
    lowered: tvm.IRModule, target: tvm.target.Target, edit: Callable[[str], str] | None = None
) -> device_source.DeviceExecutable:
    compiler = shutil.which("nvcc")
    attributes: Any = target.attrs
    architecture = str(attributes["arch"])

    def assemble(code: str) -> bytes:
        # Without nvcc nothing is compiled, and `export` refuses the executable.
        return code.encode() if compiler is None else compile_kernels(code, architecture, compiler)

    executable = device_source.generate(lowered, target, edit=edit, assemble=assemble, pack=cuda_image.encode)
    return replace(executable, compiled=compiler is not None)


def compile_kernels(code: str, architecture: str, compiler: str) -> bytes:
    """Machine code (cubin) of CUDA C++ for an architecture such as sm_87.

    Arithmetic follows IEEE 754, as on the other backends: a fast function is an edit's decision, not the
    compiler's. Raises EvaluationFailure with nvcc's words if it refuses the code.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "kernels.cu"), Path(folder, "kernels.cubin")
        source.write_text(code)
        command = [
            compiler,
            "-cubin",
            "-O3",
            f"-arch={architecture}",
            "-std=c++17",
            "-o",
            str(result),
            str(source),
        ]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_COMPILE_TIME_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise EvaluationFailure(
                FailureClass.TIMEOUT, f"nvcc took longer than {_COMPILE_TIME_LIMIT_S:g} s"
            ) from error
        if done.returncode == 0:
            return result.read_bytes()
    words = (done.stderr + done.stdout).replace(str(source), "kernels.cu")
    first = next((match[0] for match in _ERROR.finditer(words)), words.strip()[-400:])
    failure = FailureClass.MEMORY if _SHARED_MEMORY.search(words) else FailureClass.SYNTAX_API
    raise EvaluationFailure(failure, f"nvcc refuses the kernels: {first.strip()[:400]}", detail=clip(words))
