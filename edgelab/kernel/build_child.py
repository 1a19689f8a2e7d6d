"""One build, from text to artefact; runs in a disposable child of the build server."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from edgelab.errors import EdgeLabError, EvaluationFailure, FailureClass
from edgelab.kernel import checks, diagnostics, guard, lowering
from edgelab.kernel.adapters import adapter
from edgelab.kernel.bounds import check_bounds
from edgelab.kernel.build_protocol import BuildReply, BuildRequest, ServerEvent
from edgelab.kernel.reads import check_reads_follow_writes
from edgelab.kernel.source_guard.findings import MAX_CHARACTERS
from edgelab.visible_text import visible, visible_block

_RECURSION_LIMIT = 5000
"""TVM's parser takes several Python frames for each level that an expression nests."""

Report = Callable[[ServerEvent], None]


def run_build(request: BuildRequest, workspace: Path, report: Report) -> None:
    """Build `request` and report each phase and then `done` or `error`; nothing is raised.

    The artefact is written in `workspace` and renamed into the request's folder, so that a killed build
    leaves no half of one. Both are on one file system.
    """
    sys.setrecursionlimit(_RECURSION_LIMIT)
    build = _Build(request, workspace, report)
    try:
        reply = build.run()
    except BaseException as error:  # noqa: BLE001 - whatever ends a build is the build's result
        failure = diagnostics.explain(error, build.text, build.phase)
        report(
            ServerEvent(
                event="error",
                failure_class=str(_class_of(error, failure)),
                message=visible(failure.message),
                detail=visible_block(failure.detail),
            )
        )
    else:
        report(ServerEvent(event="done", reply=reply))


def _class_of(error: BaseException, failure: EvaluationFailure) -> FailureClass:
    """What the machine lacks, or what is wrong with EdgeLab itself, is not the program's fault."""
    if isinstance(error, EvaluationFailure | MemoryError):
        return failure.failure_class
    if isinstance(error, OSError | subprocess.SubprocessError | EdgeLabError):
        return FailureClass.INFRASTRUCTURE
    frames = traceback.extract_tb(error.__traceback__)
    raised_here = bool(frames) and Path(frames[-1].filename).is_relative_to(Path(__file__).parent)
    return FailureClass.INFRASTRUCTURE if raised_here else failure.failure_class


class _Build:
    """State of one build: the phase it is in, for messages, and the time each phase took."""

    def __init__(self, request: BuildRequest, workspace: Path, report: Report) -> None:
        self.request = request
        self.workspace = workspace
        self.report = report
        self.text = ""
        self.phase = "parse"
        self.phase_s: dict[str, float] = {}
        self._began = time.perf_counter()

    def run(self) -> BuildReply:
        request = self.request
        self._begin("parse")
        self.text = Path(request.program_path).read_text(encoding="utf-8-sig")
        params = load_params(request.params_path)
        module = self._parse(params)
        backend = adapter((request.target or {}).get("kind", "llvm"))
        target = backend.target(request.target)

        self._begin("lower")
        bound = lowering.bind_parameters(lowering.keep_written_kernels(module), params)
        lowered = self._scheduled(backend.lower(bound, target))
        self._begin("build")
        executable = backend.build(lowered, target)
        if request.source_path is not None:
            executable = backend.with_source(executable, _read_source(request.source_path))
        self._begin("link")
        if request.product == "source":
            made = self.workspace / f"kernel{backend.source_suffix}"
            made.write_text(backend.source(executable))
        else:
            made = self.workspace / "kernel.so"
            backend.export(executable, made)
        path, digest = _store(made, Path(request.out_folder))
        self._end()
        return BuildReply(
            artefact_path=str(path),
            artefact_sha256=digest,
            size_bytes=path.stat().st_size,
            target=plain_target(target),
            tvm_version=tvm.__version__,
            kernels=lowering.called_kernels(lowered),
            planned_memory_bytes=lowering.planned_memory_bytes(lowered),
            phase_s=self.phase_s,
        )

    def _parse(self, params: dict[str, np.ndarray]) -> tvm.IRModule:
        request = self.request
        guard.check(self.text)
        module = tvm.script.from_source(guard.without_preamble(self.text), check_well_formed=False)
        if not isinstance(module, tvm.IRModule):
            raise EvaluationFailure(FailureClass.SYNTAX_API, "the text is not a module")
        checks.check_interface(
            module, request.expected_inputs, params, request.expected_outputs, request.output_structure
        )
        checks.check_well_formed(module)
        checks.check_no_addresses(module)
        check_bounds(module)
        checks.check_inputs_untouched(module)
        check_reads_follow_writes(module)
        return module

    def _scheduled(self, lowered: tvm.IRModule) -> tvm.IRModule:
        if self.request.schedules_path is None:
            return lowered
        # What tuning needs of TVM is imported by the builds that need it alone.
        from edgelab.kernel.tuning.apply import scheduled

        return scheduled(lowered, json.loads(Path(self.request.schedules_path).read_bytes()))

    def _begin(self, phase: str) -> None:
        self._end()
        self.phase = phase
        self.report(ServerEvent(event="phase", phase=phase))

    def _end(self) -> None:
        now = time.perf_counter()
        self.phase_s[self.phase] = now - self._began
        self._began = now


def load_params(path: str | None) -> dict[str, np.ndarray]:
    """Parameters p0, p1, ... of a program in this order; none without a path."""
    if path is None:
        return {}
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in sorted(archive.files, key=lambda name: int(name[1:]))}


def _read_source(path: str) -> str:
    """An edited source as it is. Raises EvaluationFailure (syntax_api) if it is too large or is not text."""
    if Path(path).stat().st_size > MAX_CHARACTERS:
        raise EvaluationFailure(
            FailureClass.SYNTAX_API, f"the edited source is larger than {MAX_CHARACTERS} bytes"
        )
    try:
        return Path(path).read_bytes().decode("ascii")
    except UnicodeDecodeError as error:
        raise EvaluationFailure(
            FailureClass.SYNTAX_API, f"the edited source is not ASCII: {error}"
        ) from error


def _store(made: Path, folder: Path) -> tuple[Path, str]:
    with made.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path = folder / f"{digest}{made.suffix}"
    made.rename(path)
    return path, digest


def plain_target(target: tvm.target.Target) -> dict[str, Any]:
    """The target as plain JSON values, without what TVM fills in as empty."""
    plain = _plain(target.export())
    return {key: value for key, value in plain.items() if value not in ("", [], None)}


def _plain(value: Any) -> Any:
    """TVM's containers and strings are subclasses that JSON encoders refuse."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value
