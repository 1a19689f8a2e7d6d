"""TVM's exceptions as failures that a person or a model can act on; TVM's own noise goes into the detail."""

from __future__ import annotations

import re

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.visible_text import visible, visible_block

_LOCATION = re.compile(r"^ *--> <str>:(\d+):(\d+)", re.MULTILINE)
_PASS = re.compile(r"^Error in pass: .*$", re.MULTILINE)
_CHECK = re.compile(r"^Check failed: .*? (?:is false|is true)?: ?|^Check failed: \(.*?\)(?: \(.*?\))? ?: ?")
_PARALLEL = re.compile(
    r"thread_?scope|threadIdx|blockIdx|thread_extent|thread binding|launch_thread|race", re.IGNORECASE
)
_MEMORY = re.compile(r"bad_alloc|out of memory|cannot allocate memory|MemoryError", re.IGNORECASE)
DETAIL_CHARACTERS = 8000


def explain(error: BaseException, text: str, phase: str) -> EvaluationFailure:
    """The failure that `error`, raised while `phase` worked on program `text`, means for its author."""
    if isinstance(error, EvaluationFailure):
        return error
    raw = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or _MEMORY.search(raw):
        return EvaluationFailure(
            FailureClass.MEMORY, f"compiling ran out of memory during {phase}", detail=clip(raw)
        )
    where = _LOCATION.search(str(error))
    reason = _reason(str(error))
    if where:
        line, column = int(where[1]), int(where[2])
        message = located(text, line, reason, column)
    else:
        message = (
            f"the compiler refused the program during {phase}: {visible(reason) or type(error).__name__}"
        )
    failure_class = FailureClass.PARALLEL if _PARALLEL.search(reason) else FailureClass.SYNTAX_API
    return EvaluationFailure(failure_class, message, detail=clip(raw))


def located(text: str, line: int, reason: str, column: int | None = None) -> str:
    """`line 8, column 17: undefined variable vj, in: C[vi] = A[vj]`; lines and columns count from 1."""
    lines = re.split("\r\n|\r|\n", text)
    source = visible(lines[line - 1].strip()[:120]) if 0 < line <= len(lines) else ""
    place = f"line {line}" + (f", column {column}" if column else "")
    return f"{place}: {visible(reason)}" + (f", in: {source}" if source else "")


def clip(text: str) -> str:
    """The beginning of a long detail, which is where TVM says what happened."""
    shown = visible_block(text[:DETAIL_CHARACTERS])
    return shown if len(text) <= DETAIL_CHARACTERS else shown + "\n[...]"


def _reason(message: str) -> str:
    """First sentence of a TVM message without its C++ check and its dump of the module."""
    head = _LOCATION.split(_PASS.split(message, maxsplit=1)[0], maxsplit=1)[0]
    head = head.strip().removeprefix("error: ")
    head = " ".join(head.split("\n\n", 1)[0].split())
    head = _CHECK.sub("", head, count=1)
    head = re.sub(r"ir\.Op\(.*?name=\"([\w.]+)\".*?support_level=\d+\)", r"\1", head)
    return head[:400].rstrip(" .")


def crashed(signal_name: str, phase: str, stderr: str) -> EvaluationFailure:
    """The compiler itself died by a signal while working on the program."""
    if _MEMORY.search(stderr):
        return EvaluationFailure(
            FailureClass.MEMORY,
            f"compiling ran out of memory during {phase}",
            detail=visible_block(stderr[-DETAIL_CHARACTERS:]),
        )
    return EvaluationFailure(
        FailureClass.CRASH,
        f"the compiler crashed with {signal_name} during {phase}",
        detail=visible_block(stderr[-DETAIL_CHARACTERS:]),
        advice="Reduce the program until it compiles; the pass pipeline does not survive what it holds.",
    )
