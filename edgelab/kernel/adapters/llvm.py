"""CPU backend: machine code through TVM's own LLVM, linked by the system's C compiler."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline
from tvm.target import codegen
from tvm.tirx import For, PrimFunc

from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError
from edgelab.kernel import lowering
from edgelab.kernel.build_protocol import HostTarget
from edgelab.kernel.diagnostics import clip, located
from edgelab.kernel.source_guard import llvm_ir

_VECTOR_FEATURES = ("avx", "fma", "f16c", "amx", "bmi", "gfni", "vaes", "vpclmulqdq")
_COMPILERS = ("cc", "gcc", "clang")
_LINK_TIME_LIMIT_S = 60
_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
"""`e_machine` of an ELF header (elf.h) by the name that `os.uname` has for the architecture."""
_PARSE_ERROR = re.compile(r":(\d+):(\d+): error: (.*)")


class LlvmAdapter:
    """Lowers with the fused default pipeline and compiles with LLVM, for this CPU or another one."""

    name = "llvm"
    source_suffix = ".ll"

    def target(self, description: dict[str, Any] | None) -> tvm.target.Target:
        """The described target, or this machine's CPU."""
        return tvm.target.Target(description if description is not None else host_target().target)

    def lower(self, module: tvm.IRModule, target: tvm.target.Target) -> tvm.IRModule:
        """See `lowering.lower`. Raises EvaluationFailure (parallel) for a loop bound to a GPU's threads."""
        bound = _thread_axis(module)
        if bound:
            raise EvaluationFailure(
                FailureClass.PARALLEL,
                f"a loop is bound to {bound}, but the llvm backend has no thread axes",
                advice="Use T.parallel, T.vectorized or T.unroll.",
            )
        return lowering.lower(module, target, pipeline)

    def build(self, lowered: tvm.IRModule, target: tvm.target.Target) -> Any:
        """Virtual machine executable with one object file of kernels."""
        return relax.build(lowered, target, relax_pipeline=None)

    def source(self, executable: Any) -> str:
        """LLVM IR of all kernels."""
        return "\n".join(module.inspect_source("ll") for module in executable.mod.imports)

    def with_source(self, executable: Any, source: str) -> Any:
        """See Adapter. The source is optimised already: what is left to do is code generation."""
        llvm_ir.check(source, self.source(executable))
        with tempfile.TemporaryDirectory() as folder:
            text, bytecode = Path(folder, "edited.ll"), Path(folder, "main.vm")
            text.write_text(source)
            kernels = _load_ir(text, source)
            executable.mod.write_to_file(str(bytecode), "relax.VMExecutable")
            edited = tvm_ffi.get_global_func("ffi.Module.load_from_file.relax.VMExecutable")(str(bytecode))
        edited.import_module(kernels)
        return relax.VMExecutable(edited)

    def export(self, executable: Any, path: Path) -> None:
        """Shared library at `path`, for the target's architecture. Raises what `link` raises."""
        executable.export_library(str(path), fcompile=link)


def _load_ir(path: Path, source: str) -> Any:
    """The module that LLVM reads from `path`, whose text is `source`."""
    try:
        return tvm.runtime.load_module(str(path))
    except Exception as error:
        where = _PARSE_ERROR.search(str(error))
        what = located(source, int(where[1]), where[3], int(where[2])) if where else str(error).strip()[:400]
        raise EvaluationFailure(
            FailureClass.SYNTAX_API, f"the edited LLVM IR is not valid: {what}", detail=clip(str(error))
        ) from error


def _thread_axis(module: tvm.IRModule) -> str | None:
    """Thread axis that a kernel binds a loop to, such as threadIdx.x."""
    found: list[str] = []
    for function in module.functions.values():
        if isinstance(function, PrimFunc):
            tvm_ffi.structural_walk(function.body, (For, lambda loop: _collect_binding(loop, found)))
    return found[0] if found else None


def _collect_binding(loop: For, found: list[str]) -> None:
    if loop.thread_binding is not None:
        found.append(str(loop.thread_binding.thread_tag))


def link(path: str, objects: list[str], **_options: object) -> None:
    """Link `objects` into the shared library `path`.

    Raises EvaluationFailure (syntax_api) for objects that cannot be linked and NotReadyError if nothing can.

    The C driver is twice as fast as the C++ driver that TVM calls, and kernels use nothing of C++; it
    records the dependency on libm, which calling `ld` by itself would not.
    """
    compiler = _compiler(_architecture(objects))
    command = [compiler, "-shared", "-fPIC", "-o", path, *objects, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LINK_TIME_LIMIT_S, check=False)
    if done.returncode != 0:
        words = done.stderr.strip()[-400:]
        if _links_nothing(compiler, path):
            raise EvaluationFailure(
                FailureClass.SYNTAX_API,
                f"the program's kernels cannot be linked: {words}",
                detail=done.stderr,
            )
        raise NotReadyError(f"Linking failed: {words}", advice=f"Check that {compiler} works.")


def _architecture(objects: list[str]) -> str:
    """Architecture that the objects are for; this machine's where they do not say."""
    for name in objects:
        with Path(name).open("rb") as file:
            header = file.read(20)
        if header[:4] == b"\x7fELF" and len(header) == 20:
            return _ELF_MACHINES.get(int.from_bytes(header[18:20], "little"), os.uname().machine)
    return os.uname().machine


def _compiler(architecture: str) -> str:
    """Path of a C compiler that links for `architecture`. Raises NotReadyError if there is none."""
    native = architecture == os.uname().machine
    wanted = _COMPILERS if native else (f"{architecture}-linux-gnu-gcc",)
    compiler = next((found for name in wanted if (found := shutil.which(name))), None)
    if compiler is not None:
        return compiler
    if native:
        raise NotReadyError("No C compiler was found to link kernels with.", advice="Install gcc.")
    debian = {"aarch64": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"}
    packages = debian.get(architecture, f"gcc-{architecture.replace('_', '-')}-linux-gnu")
    raise NotReadyError(
        f"The program is for {architecture}, and {wanted[0]}, which links it, was not found.",
        advice=f"Install it (Debian: apt install {packages}).",
    )


def _links_nothing(compiler: str, path: str) -> bool:
    """Whether the compiler can link an empty library at `path`; then what failed is up to the program."""
    command = [compiler, "-shared", "-fPIC", "-o", path, "-x", "c", "-", "-lm"]
    done = subprocess.run(
        command, input="", capture_output=True, text=True, timeout=_LINK_TIME_LIMIT_S, check=False
    )
    Path(path).unlink(missing_ok=True)
    return done.returncode == 0


def host_target(cpuinfo: Path = Path("/proc/cpuinfo")) -> HostTarget:
    """This machine's CPU. LLVM names the model; features that a hypervisor hides are switched off."""
    mcpu = str(codegen.llvm_get_system_cpu())
    cores = len(os.sched_getaffinity(0))
    description: dict[str, Any] = {"kind": "llvm", "mcpu": mcpu, "num-cores": cores}
    known = {str(name) for name in codegen.llvm_get_cpu_features(tvm.target.Target(description))}
    hidden = hidden_features(known, cpuinfo)
    if hidden:
        description["mattr"] = [f"-{feature}" for feature in hidden]
    return HostTarget(
        mcpu=mcpu,
        num_cores=cores,
        tvm_version=tvm.__version__,
        llvm_version=str(codegen.llvm_version_major()),
        target=description,
    )


def hidden_features(known: set[str], cpuinfo: Path) -> list[str]:
    """x86 vector features in `known` (LLVM's names) that the kernel does not report for this CPU.

    LLVM tells AMD models by family number alone, so on a virtual machine it may promise AVX-512 that
    the hypervisor masks; such code would die with SIGILL. Empty where the kernel lists no x86 flags.
    """
    flags: set[str] = set()
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else []:
        if line.startswith("flags"):
            flags = {flag.replace("_", "") for flag in line.partition(":")[2].split()}
            break
    if not flags:
        return []
    aliases = {"bmi": "bmi1"}
    vector = (feature for feature in known if feature.startswith(_VECTOR_FEATURES))
    return sorted(
        feature for feature in vector if aliases.get(feature, feature.replace("-", "")) not in flags
    )
