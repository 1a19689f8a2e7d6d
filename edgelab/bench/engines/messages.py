"""What the controller and an engine's child tell each other, in the bodies of frames of `worker.channel`.

LOAD prepares, UPLOAD gives inputs, CALL runs once and describes the outputs, FETCH gets one of them, BLOCK
times calls: the frames mean what they mean between the worker and a program's child.
"""

from __future__ import annotations

import msgspec

from edgelab.bench.engines.engine import Problem


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """What to prepare: a task's module (`source_path` has its text as it runs, `path` names it in messages),
    the folder of its reference bundle, a seed whose inputs it has, the cache, and the number of threads."""

    task: str
    path: str
    source_path: str
    digest: str
    bundle: str
    example_inputs: str
    cache: str
    threads: int
    memory_bytes: int


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """The engine can run the task. `settings` are those that it really has, in its own words."""

    settings: dict[str, str]
    elapsed_s: float


class Inputs(msgspec.Struct, frozen=True):
    """Inputs to take (an .npz file); `renew` asks for sessions and tensors in new memory."""

    path: str
    renew: bool = False


class OutputSpec(msgspec.Struct, frozen=True):
    """Shape and numpy's dtype of one output."""

    shape: tuple[int, ...]
    dtype: str


class Called(msgspec.Struct, frozen=True):
    """The outputs of one call."""

    outputs: tuple[OutputSpec, ...]


class Failed(msgspec.Struct, frozen=True):
    """Why there is no answer; see `EngineFailure`."""

    problem: Problem
    message: str
    detail: str = ""
