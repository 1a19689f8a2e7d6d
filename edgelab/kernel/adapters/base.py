"""What a backend adapter does: lower a program, compile it, show its target source, write the artefact."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class Adapter(Protocol):
    """Deterministic path from a Relax module to a loadable library on one backend.

    Modules and executables are TVM objects (`tvm.IRModule`, `tvm.relax.VMExecutable`); they are typed
    `Any` so that a process without TVM can name this interface.
    """

    name: str
    """TVM target kind, such as `llvm`."""

    source_suffix: str
    """What a file of target source is called by, such as `.ll`."""

    def target(self, description: dict[str, Any] | None) -> Any:
        """TVM target for a description; None asks for the machine this runs on."""
        ...

    def lower(self, module: Any, target: Any) -> Any:
        """Module with every operator turned into kernels of the backend and memory planned."""
        ...

    def build(self, lowered: Any, target: Any) -> Any:
        """Executable with the machine code of a lowered module."""
        ...

    def source(self, executable: Any) -> str:
        """Target source of the executable's kernels: LLVM IR, CUDA C or OpenCL C."""
        ...

    def with_source(self, executable: Any, source: str) -> Any:
        """The executable with `source`, an edit of what `source()` gave, in the place of its kernels' source.

        The given executable stays as it is. Raises GuardRefusal (an EvaluationFailure: `hack`, or `syntax_api`
        for a changed interface) naming what the edit may not do, and EvaluationFailure (syntax_api) with the
        compiler's words for a source that does not compile.
        """
        ...

    def export(self, executable: Any, path: Path) -> None:
        """Write the executable as a shared library that the device's runtime loads."""
        ...
