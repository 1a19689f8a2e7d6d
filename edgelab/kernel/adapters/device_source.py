"""Executables whose kernels are source for a device, and putting an edited source into one.

TVM's code generator offers each piece of source to a callback before it goes on (`tvm_callback_<kind>_postproc`),
so an edit is put in by generating again from the same lowered module.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import relax

from edgelab.errors import EvaluationFailure, FailureClass


@dataclass(frozen=True)
class DeviceExecutable:
    """A built program and what it was built from: `machine` is TVM's executable, `source` its kernels' text."""

    machine: Any
    lowered: Any
    target: Any
    source: str
    compiled: bool = True
    """False if the kernels are text only, because the compiler that the backend needs here is missing."""

    @property
    def mod(self) -> Any:
        """TVM's runtime module of the executable."""
        return self.machine.mod


def generate(
    lowered: Any,
    target: Any,
    *,
    edit: Callable[[str], str] | None = None,
    assemble: Callable[[str], bytes] | None = None,
    pack: Callable[[bytes], str] | None = None,
) -> DeviceExecutable:
    """Build a lowered module for a target with device source.

    `edit` may change each piece of source that the code generator gives; `assemble` turns it into machine
    code, which then travels in its place, as the text that `pack` makes of it where TVM knows text only.
    What they raise is raised here as it is.
    """
    kind = str(target.kind.name)
    # With the device's own runtime in the process, TVM asks for machine code by itself, and later.
    asks = tvm_ffi.get_global_func(f"ffi.Module.create.{kind}", allow_missing=True) is not None
    pieces: list[str] = []

    def take(code: str) -> str:
        pieces.append(edit(code) if edit is not None else code)
        if assemble is None or pack is None or asks:
            return pieces[-1]
        return pack(assemble(pieces[-1]))

    failures: list[Exception] = []
    with (
        registered(f"tvm_callback_{kind}_postproc", _collecting(failures, take)),
        registered(f"tvm_callback_{kind}_compile", _collecting(failures, assemble or str.encode)),
    ):
        try:
            machine = relax.build(lowered, target, relax_pipeline=None)
        finally:
            # It is the cause of what TVM may have made of an empty answer.
            if failures:
                raise failures[0]
    source = "\n".join(pieces) if assemble is not None else _source(machine, kind)
    return DeviceExecutable(machine, lowered, target, source)


def _collecting(failures: list[Exception], work: Callable[[str], str | bytes]) -> Callable[..., str | bytes]:
    """`work` as a callback of TVM, which would turn an exception into one of its own."""

    def callback(code: str, _target: object = None) -> str | bytes:
        try:
            return work(str(code))
        except Exception as error:  # noqa: BLE001 - `generate` raises it
            failures.append(error)
            return b""

    return callback


def edit_of(generated: str, source: str) -> Callable[[str], str]:
    """The `edit` for `generate` that puts `source` in the place of `generated`, the source of an executable.

    Raises EvaluationFailure (syntax_api) if the edit lost a line `// Function: name`, by which TVM and this
    function tell the kernels of OpenCL apart.
    """
    before, after = _parts(generated), _parts(source)
    if list(before) != list(after):
        raise EvaluationFailure(
            FailureClass.SYNTAX_API,
            f"the edit must keep the lines `// Function: ...` of the source and their order; found {list(after)}",
        )
    pieces = {text.strip(): after[name] for name, text in before.items()}

    def edit(code: str) -> str:
        if code.strip() not in pieces:
            raise RuntimeError("the code generator did not give the same source again")
        return pieces[code.strip()]

    return edit


_MARK = re.compile(r"^// Function: (\w+)\n", re.MULTILINE)


def _parts(source: str) -> dict[str, str]:
    """Pieces of a source by the name in the line before each; what is before the first has an empty name."""
    pieces = _MARK.split(source)
    named = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return {"": pieces[0], **named} if pieces[0].strip() or not named else named


def _source(machine: Any, kind: str) -> str:
    """Source of the device modules of this kind, which hang below the host's module."""
    found: list[str] = []
    for host in machine.mod.imports:
        found += [module.inspect_source() for module in (host, *host.imports) if module.kind == kind]
    return "\n".join(found)


@contextlib.contextmanager
def registered(name: str, function: Callable[..., object]) -> Iterator[None]:
    """TVM's global function `name` is `function` inside the block; what it was before comes back after."""
    before = tvm_ffi.get_global_func(name, allow_missing=True)
    tvm_ffi.register_global_func(name, function, override=True)
    try:
        yield
    finally:
        if before is None:
            tvm_ffi.registry.remove_global_func(name)
        else:
            tvm_ffi.register_global_func(name, before, override=True)
