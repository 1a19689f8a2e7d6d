"""Replies of the worker as frozen objects; the protocol is described in edgelab/worker."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

Element = float | int | bool
"""One element of a tensor."""


class Hello(msgspec.Struct, frozen=True):
    """What the worker runs on, and what its sandbox really holds there (`on`, or why not)."""

    protocol: int
    python: str
    numpy: str
    tvm: str
    cpu_count: int | None
    pid: int
    sandbox: dict[str, str | int | None]


class Limits(msgspec.Struct, frozen=True):
    """What a program may use; `cpus` restricts it to these cores (None: all), `time_s` is for loading."""

    memory_bytes: int
    time_s: float
    threads: int
    cpus: tuple[int, ...] | None = None


class ExecutionDevice(msgspec.Struct, frozen=True):
    """Where a program runs: `index` counts the devices of this kind. `library` is the blob hash of EdgeLab's
    OpenCL runtime, which only that kind takes."""

    kind: Literal["cpu", "cuda", "opencl"] = "cpu"
    index: int = 0
    library: str | None = None


class Loaded(msgspec.Struct, frozen=True):
    """A program child is ready."""

    pid: int
    rss_bytes: int | None


class Tolerance(msgspec.Struct, frozen=True):
    """An element matches if |got - expected| <= atol + rtol * |expected|."""

    rtol: float
    atol: float


class WorstElement(msgspec.Struct, frozen=True):
    """The element with the largest absolute error; that is None where it is not finite."""

    index: tuple[int, ...]
    got: Element
    expected: Element
    abs_error: float | None
    tolerated: float


class Verification(msgspec.Struct, frozen=True):
    """Result of one verification. With `structure_ok` False nothing was compared element by element.

    `index`, `got` and `expected` are the first mismatch (C order) of output `output_index`, None if there
    is none; `max_abs_error` is None where it is not finite or nothing was compared.
    """

    ok: bool
    structure_ok: bool
    message: str
    output_index: int | None
    index: tuple[int, ...] | None
    got: Element | None
    expected: Element | None
    worst: WorstElement | None
    max_abs_error: float | None
    mismatched: int
    total: int


class PairSeries(msgspec.Struct, frozen=True):
    """Latencies per call of both programs, pair by pair, and the worker's reading of their blocks, in
    seconds. There may be fewer pairs than asked for when the time was over. `unseen_s` are single calls of both
    on inputs that they have not just seen."""

    a_s: tuple[float, ...]
    b_s: tuple[float, ...]
    parent_s: tuple[tuple[float, float], ...]
    unseen_s: tuple[tuple[float, float], ...] = ()


class Block(msgspec.Struct, frozen=True):
    """One timed block: latency per call, and the whole block as the clock outside of the program saw it (s)."""

    latency_s: float
    parent_s: float


class TimedKernel(msgspec.Struct, frozen=True):
    """One kernel of a batch: latencies of a call in seconds, one a block of `calls`; or why there are none.

    `failure_class` is of the failure taxonomy and empty where the kernel was timed.
    """

    latencies_s: tuple[float, ...] = ()
    calls: int = 0
    failure_class: str = msgspec.field(default="", name="class")
    message: str = ""


class TimedKernels(msgspec.Struct, frozen=True):
    """One entry for each kernel of a batch, in its order."""

    kernels: tuple[TimedKernel, ...]


class KernelPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to time plain kernels: `blocks` blocks of about `block_s` seconds each, on inputs from `seed`.

    A kernel whose first warm call takes `single_s` or longer is not called again. `time_s` is the limit for
    loading and timing one kernel. With `forget` the artefacts are deleted from the device afterwards.
    """

    seed: int
    block_s: float
    blocks: int
    single_s: float
    time_s: float
    memory_bytes: int
    threads: int
    forget: bool = False


class MemoryReading(msgspec.Struct, frozen=True):
    """Peak resident memory of a program child, and what it had before it loaded its program.

    `device_bytes` is what it took of a GPU's own memory; None where the GPU has none or it is not known.
    """

    peak_rss_bytes: int | None
    baseline_rss_bytes: int | None
    device_bytes: int | None = None


class DeviceReading(msgspec.Struct, frozen=True):
    """State of the device; None where it could not be read.

    `nodes` are the files that were asked for by path, as text.
    """

    cpu_freq_hz: float | None
    temperature_c: float | None
    load_1min: float | None
    memory_available_bytes: int | None
    nodes: dict[str, str | None] = {}


class Unloaded(msgspec.Struct, frozen=True):
    """How a program child ended; not `clean` is a failure of the program."""

    clean: bool
    exit: str
    stderr_tail: str


def restore_floats(fields: dict[str, object]) -> dict[str, object]:
    """Turn the elements `nan`, `inf` and `-inf`, which JSON has no numbers for, into floats again."""
    restored = dict(fields)
    for name in ("got", "expected"):
        if isinstance(value := restored.get(name), str) and value in ("nan", "inf", "-inf"):
            restored[name] = math.nan if value == "nan" else float(value)
    if isinstance(worst := restored.get("worst"), dict):
        restored["worst"] = restore_floats(worst)
    return restored
