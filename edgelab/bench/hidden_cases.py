"""Hidden cases of a task: inputs of another structure, what PyTorch makes of them, and why others were left out.

They lie in the task's reference bundle, under a seed that is derived from the home's secret:
hidden_<seed>.json and, for every case, hidden_<seed>_<structure>.inputs.npz and .expected.npz.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from edgelab.bench.structural_inputs import Structure
from edgelab.drivers.worker_messages import Tolerance

FEWEST_CASES = 2
"""A task with fewer hidden cases is not guarded against programs that know its inputs."""


class HiddenCase(msgspec.Struct, frozen=True):
    """One case. Its tolerance is its own: inputs of another size round differently."""

    structure: Structure
    tolerance: Tolerance


class LeftOut(msgspec.Struct, frozen=True):
    """A structure that this task cannot be asked for, and why."""

    structure: Structure
    reason: str


class HiddenCases(msgspec.Struct, frozen=True):
    """All hidden cases of one task under one secret."""

    cases: tuple[HiddenCase, ...]
    left_out: tuple[LeftOut, ...]


def index_name(seed: int) -> str:
    """File name of the list of cases."""
    return f"hidden_{seed}.json"


def inputs_name(seed: int, structure: Structure) -> str:
    """File name of a case's inputs in0, in1, ..."""
    return f"hidden_{seed}_{structure}.inputs.npz"


def expected_name(seed: int, structure: Structure) -> str:
    """File name of a case's outputs out0, out1, ..."""
    return f"hidden_{seed}_{structure}.expected.npz"


def load(folder: Path, seed: int) -> HiddenCases | None:
    """Return the cases under `seed` in a bundle's folder; None where they have to be made (again)."""
    try:
        found = msgspec.json.decode((folder / index_name(seed)).read_bytes(), type=HiddenCases)
    except (OSError, msgspec.DecodeError):
        return None
    names = [name(seed, case.structure) for case in found.cases for name in (inputs_name, expected_name)]
    return found if all((folder / name).is_file() for name in names) else None


def move(work: Path, folder: Path) -> None:
    """Move the cases in `work` into a bundle's folder, the lists last: whoever reads one finds its files.

    Files of one name have one content, so that two processes that do this at once are fine.
    """
    for pattern in ("hidden_*.npz", "hidden_*.json"):
        for path in work.glob(pattern):
            path.replace(folder / path.name)
