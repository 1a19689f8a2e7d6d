"""The unit of search and evaluation: one Relax + TIR program as TVMScript text, and the specs of its tensors."""

from __future__ import annotations

import enum
import hashlib
from typing import Annotated

import msgspec


class ProgramLevel(enum.StrEnum):
    """Lowest level a program's text has been taken down to."""

    GRAPH = "graph"
    """L0: Relax operators only; lowering chooses every loop."""
    SCHEDULE = "schedule"
    """L1: at least one loop nest is written out as a PrimFunc."""
    SOURCE = "source"
    """L2: target source (LLVM IR, CUDA C, OpenCL C) was edited."""


class ProgramOrigin(enum.StrEnum):
    """Who wrote a program."""

    IMPORT = "import"
    """Translated from the task's PyTorch model."""
    CANDIDATE = "candidate"
    """Written by a person, a search or a model; it is untrusted until the guard admits it."""


class TensorSpec(msgspec.Struct, frozen=True):
    """Name, static shape (elements per axis) and dtype (numpy's name, such as `float32`) of one tensor."""

    name: str
    shape: tuple[Annotated[int, msgspec.Meta(ge=0)], ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class KernelProgram(msgspec.Struct, frozen=True):
    """One program in TVMScript without imports.

    The text is a single `@I.ir_module class Module` whose `main` takes the task's inputs `in0, in1, ...`
    and then the parameters `p0, p1, ...`; its attribute `num_input` is the number of task inputs. `source` is
    an edit of the target source that this text is translated to (level 2), None for the source as it is.
    """

    text: str
    task: str
    level: ProgramLevel = ProgramLevel.GRAPH
    origin: ProgramOrigin = ProgramOrigin.CANDIDATE
    source: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of the text, and of its source if that was edited.

        Two programs with one digest are the same program.
        """
        if self.source is None:
            return hashlib.sha256(self.text.encode()).hexdigest()
        # NUL is in neither of the two.
        return hashlib.sha256(f"{self.text}\0{self.source}".encode()).hexdigest()
