"""Messages between the build service and its server: one JSON object a line, in both directions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from edgelab.kernel.program import TensorSpec

PHASES = ("parse", "lower", "build", "link")
"""Steps of one build, in order; `parse` includes the guard and the checks of the parsed program."""

Role = Literal["candidate", "baseline"]


class BuildRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One program to compile.

    Paths are absolute. `params_path` is an npz with p0, p1, ... (None: the program has no parameters).
    `target` is a TVM target as a dict; None is this machine's CPU. A `baseline` program is one we
    imported ourselves. `output_structure` is checked where it is given: a `tuple` of one tensor is not
    a `tensor`. `source_path` names an edit of the target source that the adapter generates for this program
    and target (level 2); it takes the place of that source. None: the generated source is compiled. With
    `product` "source" the artefact is that target source as text, and nothing is linked.
    `schedules_path` has the schedules of a tuned baseline (JSON: trace by kernel digest); None: the default ones.
    """

    program_path: str
    params_path: str | None
    source_path: str | None = None
    schedules_path: str | None = None
    target: dict[str, Any] | None = None
    out_folder: str
    product: Literal["library", "source"] = "library"
    role: Role = "candidate"
    expected_inputs: tuple[TensorSpec, ...]
    expected_outputs: tuple[TensorSpec, ...]
    output_structure: Literal["tensor", "tuple"] | None = None
    time_limit_s: float = 120.0
    memory_limit_bytes: int = 8 * 2**30


class BuildReply(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled program. The artefact's file is named by the SHA-256 of its content.

    `planned_memory_bytes` is the sum of the buffers that the compiled program allocates between
    kernels, after storage planning; None where the plan depends on run-time values. `kernels` names the
    kernels that `main` calls, in the order of the first call.
    """

    artefact_path: str
    artefact_sha256: str
    size_bytes: int
    target: dict[str, Any]
    tvm_version: str
    kernels: tuple[str, ...]
    planned_memory_bytes: int | None
    phase_s: dict[str, float]


class HostTarget(msgspec.Struct, frozen=True, kw_only=True):
    """This machine's CPU as a compile target, as TVM's LLVM sees it."""

    mcpu: str
    num_cores: int
    tvm_version: str
    llvm_version: str
    target: dict[str, Any]


class ServerRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Service to server. `cancel` names the request to end by its id in `cancels`."""

    id: int
    op: Literal["build", "cancel", "shutdown"]
    build: BuildRequest | None = None
    cancels: int = 0


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Server to service, and disposable child to server. `id` is the request's, or 0.

    `ready` is the first event and carries `host`; `phase` says which step began; each build ends with
    exactly one `done`, `error` or `cancelled`.
    """

    id: int = 0
    event: Literal["ready", "phase", "done", "error", "cancelled"]
    host: HostTarget | None = None
    phase: str = ""
    reply: BuildReply | None = None
    failure_class: str = ""
    message: str = ""
    detail: str = ""


def workspace_prefix(server_pid: int) -> str:
    """Beginning of the names of the folders a server works in, inside the folders of its requests."""
    return f".build-{server_pid}-"
