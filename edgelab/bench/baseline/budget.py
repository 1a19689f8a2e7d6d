"""How many trials a kernel gets: calibrated per backend and search-complexity class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from edgelab.errors import NotReadyError
from edgelab.kernel.tuning.protocol import SearchClass

TRIALS_PER_BATCH = 64
"""num_trials_per_iter of EdgeKernelBench; budgets are multiples of it."""

_LEAST = 64
_MARGIN = 1.25

BUDGETS_FILE = Path(__file__).with_name("budgets.json")
"""The calibrated table that is shipped."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """T_conv of one calibration kernel, in trials."""

    backend: str
    search_class: SearchClass
    task: str
    kernel: str
    converged_at: int


class BudgetTable(msgspec.Struct, frozen=True):
    """Budgets by backend and class, and the calibrations that they follow from."""

    budgets: dict[str, dict[SearchClass, int]]
    calibrations: tuple[Calibration, ...] = ()
    default: int = 256
    """For a backend or class without a calibration."""

    def of(self, backend: str, search_class: SearchClass) -> int:
        """Trials for a kernel of the class on the backend."""
        return self.budgets.get(backend, {}).get(search_class, self.default)


def budget(converged_at: Iterable[int]) -> int:
    """B = max(64, 1.25 * max T_conv), rounded up to a multiple of 64 (EdgeKernelBench). Needs one value or more."""
    wanted = max(_LEAST, _MARGIN * max(converged_at))
    return TRIALS_PER_BATCH * math.ceil(wanted / TRIALS_PER_BATCH)


def table_of(calibrations: Iterable[Calibration], before: BudgetTable | None = None) -> BudgetTable:
    """The table that follows from calibrations; those of `before` count where the same kernel has no new one."""
    merged: dict[tuple[str, str, str], Calibration] = {}
    for found in (*(before.calibrations if before else ()), *calibrations):
        merged[found.backend, found.task, found.kernel] = found
    groups: dict[str, dict[SearchClass, list[int]]] = {}
    for found in merged.values():
        groups.setdefault(found.backend, {}).setdefault(found.search_class, []).append(found.converged_at)
    budgets = {backend: _budgets(classes) for backend, classes in sorted(groups.items())}
    return BudgetTable(budgets, tuple(merged[key] for key in sorted(merged)))


def _budgets(classes: Mapping[SearchClass, list[int]]) -> dict[SearchClass, int]:
    return {name: budget(classes[name]) for name in SearchClass if name in classes}


def read_table(path: Path = BUDGETS_FILE) -> BudgetTable:
    """The table in a file. Raises `NotReadyError` that names the file when it is absent or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=BudgetTable)
    except (OSError, msgspec.DecodeError) as error:
        raise NotReadyError(
            f"The table of budgets {path} cannot be read: {error}.",
            advice="Name the trials with --trials N, or make the table with edgelab tune --calibrate.",
        ) from error


def write_table(path: Path, table: BudgetTable) -> None:
    """Write the table whole. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(table), indent=2) + b"\n")
    temporary.replace(path)
