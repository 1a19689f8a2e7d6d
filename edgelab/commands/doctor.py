"""`edgelab doctor`: what is installed, what is missing, and what each missing part would enable."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from edgelab.commands.context import Session, pass_session, reporting
from edgelab.errors import ExitCode
from edgelab.kernel.opencl import presence

TVM_FFI_PIN = "0.1.14.post1"


class Part(msgspec.Struct, frozen=True):
    """One thing EdgeLab can use. `found` is what was seen there, None when it is missing."""

    name: str
    found: str | None
    needed: bool
    enables: str
    advice: str = ""


def _package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _opencl() -> str | None:
    return ", ".join(presence.drivers()) if presence.missing() is None else None


def _nvidia() -> str | None:
    device = Path("/dev/nvidia0")
    return str(device) if device.exists() else None


def _compiler() -> str | None:
    return next((path for name in ("gcc", "cc", "clang") if (path := shutil.which(name))), None)


def _ffi() -> str | None:
    version = _package("apache-tvm-ffi")
    return version if version == TVM_FFI_PIN else None


_PARTS: tuple[tuple[str, Callable[[], str | None], bool, str, str], ...] = (
    ("python", lambda: sys.version.split()[0], True, "everything", ""),
    ("torch", lambda: _package("torch"), True, "reference outputs", "pip install torch==2.13.0"),
    ("apache-tvm", lambda: _package("apache-tvm"), True, "building programs", "pip install apache-tvm==0.27.0.post1"),
    ("apache-tvm-ffi pin", _ffi, True, "tuning (others segfault)", f"pip install apache-tvm-ffi=={TVM_FFI_PIN}"),
    ("C compiler", _compiler, True, "linking compiled programs", "apt-get install gcc"),
    ("OpenCL", _opencl, False, "programs for opencl", "apt-get install g++ ocl-icd-libopencl1 pocl-opencl-icd"),
    ("NVIDIA device", _nvidia, False, "running programs for cuda here", ""),
    ("nvcc", lambda: shutil.which("nvcc"), False, "building programs for cuda", "install the CUDA toolkit"),
    ("aarch64 linker", lambda: shutil.which("aarch64-linux-gnu-gcc"), False, "programs for ARM boards",
     "apt-get install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross"),
    ("ONNX Runtime", lambda: _package("onnxruntime"), False, "its comparison with TVM: edgelab engines",
     "pip install 'edgelab[engines]'"),
    ("MNN", lambda: _package("mnn"), False, "its comparison with TVM: edgelab engines",
     "pip install 'edgelab[engines]'"),
    ("OpenSSH server", lambda: shutil.which("sshd", path="/usr/sbin:/usr/bin"), False,
     "the device tests against a real SSH server", "apt-get install openssh-server"),
)  # fmt: skip


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@pass_session
def doctor(session: Session, as_json: bool) -> None:
    """Say what is installed and what is missing; status 3 when a needed part is missing."""
    with reporting(session, as_json=as_json, schema="edgelab.doctor/1"):
        parts = [
            Part(name, look(), needed, enables, advice) for name, look, needed, enables, advice in _PARTS
        ]
        parts.append(_data_folder(session.home.root))
        ready = all(part.found for part in parts if part.needed)
        if as_json:
            report = {"schema": "edgelab.doctor/1", "home": str(session.home.root), "ready": ready}
            click.echo(msgspec.json.encode({**report, "backends": _backends(ready), "parts": parts}).decode())
        else:
            for part in parts:
                click.echo(_line(part))
        if not ready:
            raise click.exceptions.Exit(int(ExitCode.NOT_READY))


def _data_folder(root: Path) -> Part:
    place = next((folder for folder in (root, *root.parents) if folder.exists()), root)
    writable = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
    return Part(
        "data folder", str(root) if writable else None, True, "keeping results", f"make {root} writable"
    )


def _backends(ready: bool) -> dict[str, dict[str, object]]:
    """Return for each backend whether programs for it can be built and judged on this machine."""
    no_opencl = presence.missing()
    lacking = [
        name for name, found in (("nvcc", shutil.which("nvcc")), ("an NVIDIA GPU", _nvidia())) if not found
    ]
    return {
        "llvm": {"ready": ready, "device": "local"},
        "cuda": _backend(ready, f"this machine lacks {' and '.join(lacking)}" if lacking else None),
        "opencl": _backend(ready, no_opencl and f"this machine lacks {no_opencl}"),
    }


def _backend(ready: bool, reason: str | None) -> dict[str, object]:
    return {"ready": ready and reason is None, **({"reason": reason} if reason else {"device": "local"})}


def _line(part: Part) -> str:
    if part.found:
        return f"{part.name:<20} ok       {part.found}"
    state = "MISSING" if part.needed else "absent"
    advice = f": {part.advice}" if part.advice else ""
    return f"{part.name:<20} {state:<8} would enable {part.enables}{advice}"
