"""Reference bundles: what PyTorch computes for a task, made once in a child process and kept by content.

A bundle is a folder: meta.json, program.py (TVMScript), params.npz and, for every seed,
seed_<n>.inputs.npz (in0, in1, ...) and seed_<n>.expected.npz (out0, out1, ...). Hidden cases join it
(`hidden_cases`).
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.metadata
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from edgelab.bench import hidden_cases
from edgelab.bench.hidden_cases import HiddenCases
from edgelab.bench.reference_process import ChildRequest, Twin, run_reference_child
from edgelab.bench.roofline_floor import LeastWork
from edgelab.bench.structural_inputs import Structure
from edgelab.bench.tasks import TaskSpec, digest_of
from edgelab.drivers.worker_messages import Tolerance
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel.program import TensorSpec

VERIFICATION_SEEDS = (11, 23, 47)
"""Seeds of the announced verification inputs."""

TIMING_SEED = 101
"""Seed of the inputs that are timed; they differ from those of verification."""

RECHECK_SEED = 211
"""Seed of the fresh inputs on which outputs are checked again after timing."""

ANNOUNCED_SEEDS = (*VERIFICATION_SEEDS, TIMING_SEED, RECHECK_SEED)
"""Tolerances are measured over these, whichever seeds a caller asks for first."""

META_NAME = "meta.json"
PROGRAM_NAME = "program.py"
PARAMS_NAME = "params.npz"

_FORMAT = 1
_STALE_S = 24 * 3600.0


class ErrorModel(msgspec.Struct, frozen=True):
    """Where a tolerance comes from.

    `reduction_length` is the longest reduction of one operator, in terms; `max_error` the largest
    |float32 - float64| over outputs and seeds, None without a float64 form of the model.
    """

    reduction_length: int
    max_error: float | None


class BundleMeta(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle is and what its tensors look like. `param_sources` gives PyTorch's name of p0, p1, ..."""

    task: str
    digest: str
    torch_version: str
    tvm_version: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    output_structure: Literal["tensor", "tuple"]
    tolerance: Tolerance
    error_model: ErrorModel
    least_work: LeastWork
    param_sources: dict[str, str]
    elapsed_s: float


class ReferenceBundle(msgspec.Struct, frozen=True):
    """A complete bundle on disk. Files are never changed once they are there."""

    folder: Path
    meta: BundleMeta

    @property
    def program_path(self) -> Path:
        """TVMScript of the imported program."""
        return self.folder / PROGRAM_NAME

    @property
    def params_path(self) -> Path:
        """Arrays of the program's parameters, named p0, p1, ..."""
        return self.folder / PARAMS_NAME

    def inputs_path(self, seed: int) -> Path:
        """Arrays in0, in1, ... of one seed."""
        return self.folder / inputs_name(seed)

    def expected_path(self, seed: int) -> Path:
        """PyTorch's outputs out0, out1, ... for the inputs of one seed."""
        return self.folder / expected_name(seed)

    def hidden(self, seed: int) -> HiddenCases | None:
        """The hidden cases under a seed; None where they were not made yet."""
        return hidden_cases.load(self.folder, seed)

    def hidden_paths(self, seed: int, structure: Structure) -> tuple[Path, Path]:
        """Inputs and expected outputs of one hidden case."""
        names = (hidden_cases.inputs_name(seed, structure), hidden_cases.expected_name(seed, structure))
        return self.folder / names[0], self.folder / names[1]

    def has(self, seed: int) -> bool:
        """Whether inputs and outputs of the seed are there."""
        return self.inputs_path(seed).is_file() and self.expected_path(seed).is_file()


def inputs_name(seed: int) -> str:
    """File name of a seed's inputs."""
    return f"seed_{seed}.inputs.npz"


def expected_name(seed: int) -> str:
    """File name of a seed's outputs."""
    return f"seed_{seed}.expected.npz"


async def prepare(
    spec: TaskSpec,
    cache: Path,
    *,
    seeds: Sequence[int],
    twin: Twin | None = None,
    hidden: int | None = None,
    time_limit_s: float = 300,
    on_log: Callable[[str], None] | None = None,
) -> ReferenceBundle:
    """Return the task's bundle with all `seeds`, from `cache`/reference or made by a child process.

    With `twin` it also has that seed's inputs, with `hidden` the hidden cases under that seed.

    Cancellation and the time limit kill the child's process group and leave nothing behind; two callers at once
    are fine. `on_log` gets lines of narration. Raises TaskError for what is wrong with the task (its file, an
    operator that cannot be imported, the time limit) and EvaluationFailure (infrastructure) for the disk.
    Needs one seed or more.
    """
    if not seeds:
        raise ValueError("a reference needs at least one seed")
    source = await asyncio.to_thread(spec.source)
    digest = digest_of(spec.name, source)
    folder = cache / "reference" / _key(digest)
    bundle = await asyncio.to_thread(_load, folder)
    wanted = dict.fromkeys((*seeds, twin.seed) if twin else seeds)
    missing = tuple(seed for seed in wanted if bundle is None or not bundle.has(seed))
    has_hidden = hidden is None or (bundle is not None and bundle.hidden(hidden) is not None)
    if bundle is not None and not missing and has_hidden:
        return bundle
    work = await asyncio.to_thread(_work_folder, folder.parent)
    try:
        request = ChildRequest(
            task=spec.name,
            path=str(spec.path),
            source=source,
            digest=digest,
            folder=str(work),
            seeds=missing,
            program=bundle is None,
            twin=twin,
            hidden=None if has_hidden else hidden,
        )
        await run_reference_child(request, time_limit_s=time_limit_s, on_log=on_log)
        return await asyncio.to_thread(_publish, work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _key(digest: str) -> str:
    parts = [
        str(_FORMAT),
        digest,
        *map(importlib.metadata.version, ("torch", "apache-tvm")),
        _makers_digest(),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _makers_digest() -> str:
    """Digest of the code that makes bundles: a bundle of an older importer must not be taken for a new one."""
    package = Path(__file__).parents[1]
    makers = [
        *package.glob("bench/*_child.py"),
        package / "bench/tolerance.py",
        package / "bench/structural_inputs.py",
    ]
    makers += [package / "kernel" / name for name in ("importer.py", "converters.py", "program.py")]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(makers))).hexdigest()


def _load(folder: Path) -> ReferenceBundle | None:
    """The bundle in `folder`; None where there is none or where it is damaged and has to be made again."""
    try:
        meta = msgspec.json.decode((folder / META_NAME).read_bytes(), type=BundleMeta)
    except (OSError, msgspec.DecodeError):
        return None
    bundle = ReferenceBundle(folder, meta)
    return bundle if bundle.program_path.is_file() and bundle.params_path.is_file() else None


def _work_folder(parent: Path) -> Path:
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(".work-*"):
            # Left by a process that was killed; a living one is younger than any time limit.
            if time.time() - left.stat().st_mtime > _STALE_S:
                shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(dir=parent, prefix=".work-"))
    except OSError as error:
        raise _storage_failure(parent, error) from error


def _publish(work: Path, folder: Path) -> ReferenceBundle:
    """Move what the child made into place: the whole folder at once, or seeds into a bundle that is there."""
    try:
        if _load(folder) is None and (work / META_NAME).is_file():
            _clear_damaged(folder)
            # A bundle that another process published meanwhile is as good: the seeds below join it.
            if not _try_rename(work, folder):
                _move_seeds(work, folder)
        else:
            _move_seeds(work, folder)
    except OSError as error:
        raise _storage_failure(folder, error) from error
    bundle = _load(folder)
    if bundle is None:
        raise EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"the reference bundle {folder} vanished while it was written.",
            advice="Run again; do not clear the cache while runs are active.",
        )
    return bundle


def _clear_damaged(folder: Path) -> None:
    if folder.exists():
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".work-"))
        folder.rename(aside / folder.name)
        shutil.rmtree(aside, ignore_errors=True)


def _try_rename(work: Path, folder: Path) -> bool:
    try:
        work.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        return False
    return True


def _move_seeds(work: Path, folder: Path) -> None:
    for kind in ("inputs", "expected"):
        for path in work.glob(f"seed_*.{kind}.npz"):
            path.replace(folder / path.name)
    hidden_cases.move(work, folder)


def _storage_failure(place: Path, error: OSError) -> EvaluationFailure:
    return EvaluationFailure(
        FailureClass.INFRASTRUCTURE,
        f"the reference bundle cannot be written to {place}: {error.strerror or error}.",
        advice="Free disk space there or choose another folder with --home.",
    )
