"""From one scheduled kernel to a shared library that the device's runtime loads."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import tvm
from tvm.driver import build
from tvm.ir import IRModule
from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

from edgelab.kernel.adapters import llvm

_LINK_LIMIT_S = 60.0


def compile_kernel(module: IRModule, target: tvm.target.Target, library: Path) -> None:
    """Compile `module` (one function, `main`) and link it into `library`. Raises whatever TVM raises."""
    prepared = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module)
    built = build(prepared, target=target)
    if str(target.kind.name) != "llvm":
        built.export_library(str(library), fcompile=llvm.link)
        return
    objects = library.with_suffix(".o")
    built.write_to_file(str(objects))
    link_quickly(objects, library)
    objects.unlink()


def link_quickly(objects: Path, library: Path) -> None:
    """Link one object file with the linker itself, which takes half as long as through the compiler.

    Where that is not to be had (another architecture, no GNU linker), it goes through the compiler.
    """
    tools = _tools()
    if tools is not None:
        linker, libm = tools
        command = [linker, "-shared", "-o", str(library), str(objects), "--as-needed", libm]
        done = subprocess.run(command, capture_output=True, timeout=_LINK_LIMIT_S, check=False)
        if done.returncode == 0:
            return
    llvm.link(str(library), [str(objects)])


@functools.cache
def _tools() -> tuple[str, str] | None:
    """The linker that this machine's compiler uses and the libm that it links with, None if it does not say."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    said = [
        subprocess.run(
            [compiler, question], capture_output=True, text=True, timeout=_LINK_LIMIT_S, check=False
        ).stdout.strip()
        for question in ("-print-prog-name=ld", "-print-file-name=libm.so.6")
    ]
    linker = shutil.which(said[0])
    return (linker, said[1]) if linker is not None and os.path.isabs(said[1]) else None  # noqa: PTH117
