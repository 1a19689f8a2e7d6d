"""What an engine does in its child process, and how its refusals become reasons. Imported by children only."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from edgelab.bench.engines.engine import EngineFailure
from edgelab.bench.task_model_child import TaskModel
from edgelab.kernel.program import TensorSpec
from edgelab.visible_text import visible_block

_MAX_MESSAGE_CHARS = 500
_MAX_DETAIL_CHARS = 16_000


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One task for one engine: the live model, inputs to shape the preparation by, and what comes out.

    `key` names the task's content; `cache` is the folder for whatever can be made again.
    """

    task: TaskModel
    key: str
    example: tuple[np.ndarray, ...]
    outputs: tuple[TensorSpec, ...]
    cache: Path
    threads: int


class Runner(Protocol):
    """An engine in its child. Any exception of `prepare` and `renew` means that it does not take the task."""

    settings: dict[str, str]
    """What the measurement depends on, in the engine's own words; complete after `prepare`."""

    call: Callable[[], Any]
    """One call on the present inputs, outputs produced. This very object is called while time is taken."""

    def prepare(self, work: Work) -> None:
        """Convert or compile, and run once."""
        ...

    def renew(self) -> None:
        """Make what lies in memory anew: a session, weights; the inputs come with `take` after it."""
        ...

    def take(self, inputs: Sequence[np.ndarray]) -> None:
        """Copy inputs into the engine's own tensors and bind `call` to them."""
        ...

    def outputs(self, returned: Any) -> list[np.ndarray]:
        """Return what the call that returned `returned` produced, as arrays in the task's order."""
        ...

    def mode(self) -> contextlib.AbstractContextManager[object]:
        """Return what calls run inside of."""
        ...


@contextlib.contextmanager
def refused(what: str) -> Iterator[None]:
    """Turn whatever a library raises into the reason why the engine does not take the task."""
    try:
        yield
    except (EngineFailure, KeyboardInterrupt):
        raise
    except MemoryError as error:
        raise EngineFailure("failed", f"{what}: out of memory") from error
    # Its own parser's and compiler's panics derive from BaseException in some libraries.
    except BaseException as error:
        message = f"{what}: {first_line(error)}"
        problem = "failed" if ran_out_of_memory(error) else "unsupported"
        raise EngineFailure(
            problem, message, detail=visible_block(str(error))[-_MAX_DETAIL_CHARS:]
        ) from error


@contextlib.contextmanager
def broken(what: str) -> Iterator[None]:
    """Turn what a call of a prepared engine raises into a failure: it took the task before."""
    try:
        yield
    except EngineFailure:
        raise
    except Exception as error:
        what = f"{what}, out of memory" if ran_out_of_memory(error) else what
        detail = visible_block(str(error))[-_MAX_DETAIL_CHARS:]
        raise EngineFailure("failed", f"{what}: {first_line(error)}", detail=detail) from error


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether a library's exception says that memory ran out: they have no common type for it."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(
        sign in text for sign in ("out of memory", "can't allocate memory", "bad_alloc", "cannot allocate")
    )


def first_line(error: BaseException) -> str:
    """Return the type and the first line with words of an exception's text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text[:_MAX_MESSAGE_CHARS]
