"""TVM's tensor intrinsics without the wait.

Importing `tvm.s_tir.tensor_intrin` parses some five hundred functions, and the parser calls inspect.stack()
for each, which reads the source of every frame: about 20 s of CPU. No one looks at the source lines, so a
stack without them does as well (see apache/tvm#20314).
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def without_source_lines() -> Iterator[None]:
    """Within the block inspect.stack() gives frames, files, lines and functions, but no source text."""
    original = inspect.stack
    inspect.stack = _stack  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.stack = original


def _stack(context: int = 1) -> list[inspect.FrameInfo]:
    frame = sys._getframe(1)
    frames: list[inspect.FrameInfo] = []
    while frame is not None:
        frames.append(
            inspect.FrameInfo(
                frame, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, None, None
            )
        )
        frame = frame.f_back
    return frames


def load() -> None:
    """Register TVM's tensor intrinsics in this process; costs about 3 s the first time."""
    with without_source_lines():
        importlib.import_module("tvm.s_tir.tensor_intrin")
