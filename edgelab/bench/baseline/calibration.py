"""Calibration: T_conv of the kernels of chosen tasks, and the budgets that follow, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from edgelab.bench.baseline.budget import BudgetTable, Calibration
from edgelab.bench.baseline.tune import TunedTask
from edgelab.kernel.tuning.protocol import SearchClass
from edgelab.store.tuned import TunedKernel

CALIBRATION_TASKS = (
    "hardswish_mnv3",
    "argmax_vocab_qwen",
    "softmax_attn_deit",
    "layernorm_deit",
    "conv3x3_s2_stem_mnv2",
    "pw_expand_mnv2",
    "dw5x5_mnv3_small",
    "gemm_qkv_deit",
    "gemv_q_tinyllama",
)
"""Tasks that `--calibrate` takes when none is named: together they have every class."""


def calibrations_of(
    backend: str, tuned: Sequence[TunedTask]
) -> tuple[tuple[Calibration, ...], tuple[TunedKernel, ...]]:
    """The calibrations that tuned tasks give, and the searched kernels that did not converge."""
    searched = [kernel for task in tuned for kernel in task.kernels if kernel.trials]
    found = tuple(
        Calibration(
            backend=backend,
            search_class=SearchClass(kernel.search_class),
            task=kernel.task,
            kernel=kernel.digest,
            converged_at=kernel.converged_at,
        )
        for kernel in searched
        if kernel.converged_at is not None
    )
    return found, tuple(kernel for kernel in searched if kernel.converged_at is None)


def table_lines(table: BudgetTable) -> list[str]:
    """The table as aligned text: backend, class, kernels, largest T_conv, budget."""
    rows = [("backend", "class", "kernels", "max T_conv", "budget")]
    for backend, classes in table.budgets.items():
        for search_class, budget in classes.items():
            times = [
                found.converged_at
                for found in table.calibrations
                if found.backend == backend and found.search_class == search_class
            ]
            rows.append((backend, str(search_class), str(len(times)), str(max(times)), str(budget)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
