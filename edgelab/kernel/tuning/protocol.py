"""Messages between EdgeLab and the tuner: one JSON object a line, in turns. Imports no tvm."""

from __future__ import annotations

import enum
from typing import Any, Literal

import msgspec


class SearchClass(enum.StrEnum):
    """How large the space of schedules of a kernel is, told from its structure. Budgets are set by class."""

    INJECTIVE = "injective"
    """No reduction: every output element is computed by itself."""
    REDUCTION = "reduction"
    """One reduction that is no product of two tensors: sums, maxima, pooling."""
    GROUPED_CONVOLUTION = "grouped_convolution"
    """A convolution that shares a channel axis between data and weights: depthwise, grouped."""
    CONVOLUTION = "convolution"
    """A product of two tensors, one read through a sliding window."""
    MATMUL = "matmul"
    """A product of two tensors summed over common axes: dense layers, batched products."""
    COMPOSITE = "composite"
    """Several reductions in one kernel: attention, softmax, norms."""


class KernelTensor(msgspec.Struct, frozen=True):
    """Shape (elements an axis) and dtype (numpy's name) of one argument of a kernel."""

    shape: tuple[int, ...]
    dtype: str


Place = tuple[int, int]
"""Where one library lies in a bundle: offset and size in bytes."""


class Bundle(msgspec.Struct, frozen=True):
    """A file with libraries one after the other; None and a message for what was not built."""

    path: str
    places: tuple[Place | None, ...]
    errors: tuple[str, ...]


class ExtractRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Find the kernels of an imported program. Paths are absolute; `folder` takes the files of the answer."""

    program_path: str
    params_path: str | None
    target: dict[str, Any] | None
    folder: str


class ExtractedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel of a program: `weight` is how often `main` calls it, `digest` its structural hash.

    `untunable` says why no search can take it, empty where one can. `module_path` holds the kernel (TVM's
    JSON) as the only function `main` of a module.
    """

    name: str
    weight: int
    digest: str
    search_class: SearchClass
    tensors: tuple[KernelTensor, ...]
    module_path: str
    untunable: str = ""


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """The kernels of a program; `plain` has each one's library under the default schedule, in their order."""

    kernels: tuple[ExtractedKernel, ...]
    plain: Bundle
    target: dict[str, Any]
    tvm_version: str


class TuningRecord(msgspec.Struct, frozen=True):
    """One trial: the schedule as TVM's trace (JSON text), and its seconds a call; none where it failed."""

    trace: str
    run_s: tuple[float, ...] = ()
    error: str = ""

    @property
    def latency_s(self) -> float | None:
        """Median of the seconds; None for a trial that failed."""
        ordered = sorted(self.run_s)
        middle = len(ordered) // 2
        if not ordered:
            return None
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Search schedules of one kernel. `records_path` has what earlier searches of it measured (JSON lines).

    `population` is how many schedules the evolution keeps; TVM's default is 512, but a batch takes 64 of them, and
    their features are most of what a batch costs to find. One seed makes one sequence of candidates where there
    is one worker; several draw from it in whatever order they come.
    """

    kernel: ExtractedKernel
    target: dict[str, Any]
    seed: int
    max_trials: int
    trials_per_batch: int
    records_path: str | None
    folder: str
    workers: int
    population: int = 256
    build_limit_s: float
    memory_limit_bytes: int


class Measurement(msgspec.Struct, frozen=True):
    """Seconds a call of one candidate; none and a message where it failed."""

    run_s: tuple[float, ...] = ()
    error: str = ""


class SearchReply(msgspec.Struct, frozen=True):
    """EdgeLab's answer to a batch: a measurement a candidate, and whether to go on.

    After `stop` the traces of `finalists` are built; an empty trace stands for the default schedule.
    """

    measurements: tuple[Measurement, ...] = ()
    stop: bool = False
    finalists: tuple[str, ...] = ()


class TunerRequest(msgspec.Struct, frozen=True):
    """What the tuner is asked to do next."""

    extract: ExtractRequest | None = None
    search: SearchRequest | None = None


class TunerEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tuner's word.

    `ready` comes first; an extraction ends with `extracted`; a search sends a `batch` (with the candidates'
    traces) for each SearchReply, after `stop` or its own end a `finalists` and then `ended`. `failed` ends
    either: `message` says why, and `died` whether the process went down with it.
    """

    event: Literal["ready", "extracted", "batch", "exhausted", "finalists", "ended", "failed"]
    tvm_version: str = ""
    extracted: Extracted | None = None
    bundle: Bundle | None = None
    traces: tuple[str, ...] = ()
    generate_s: float = 0.0
    build_s: float = 0.0
    message: str = ""
    detail: str = ""
    died: bool = False
