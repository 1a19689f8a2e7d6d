"""Budgets from T_conv, and the table that keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.baseline.budget import BUDGETS_FILE, Calibration, budget, read_table, table_of, write_table
from edgelab.bench.baseline.calibration import table_lines
from edgelab.errors import NotReadyError
from edgelab.kernel.tuning.protocol import SearchClass


def calibration(
    converged_at: int, *, kernel: str = "k", search_class=SearchClass.MATMUL, backend: str = "llvm"
):
    return Calibration(
        backend=backend, search_class=search_class, task="t", kernel=kernel, converged_at=converged_at
    )


@given(st.lists(st.integers(1, 5000), min_size=1))
def test_a_budget_is_a_multiple_of_a_batch_that_covers_the_slowest_with_a_margin(times):
    trials = budget(times)
    assert trials % 64 == 0
    assert trials >= max(64, 1.25 * max(times))
    assert trials - 64 < max(64, 1.25 * max(times))


@pytest.mark.parametrize(
    ("slowest", "trials"), [(1, 64), (51, 64), (52, 128), (102, 128), (103, 192), (205, 320)]
)
def test_known_budgets(slowest, trials):
    assert budget([slowest]) == trials


def test_a_table_has_the_slowest_of_each_class_and_backend():
    table = table_of(
        [
            calibration(100, kernel="a"),
            calibration(300, kernel="b"),
            calibration(10, kernel="c", search_class=SearchClass.INJECTIVE),
            calibration(500, kernel="d", backend="cuda"),
        ]
    )
    assert table.of("llvm", SearchClass.MATMUL) == 384
    assert table.of("llvm", SearchClass.INJECTIVE) == 64
    assert table.of("cuda", SearchClass.MATMUL) == 640
    assert table.of("cuda", SearchClass.COMPOSITE) == table.default


def test_a_new_calibration_of_a_kernel_takes_the_place_of_its_old_one():
    before = table_of([calibration(900, kernel="a"), calibration(100, kernel="b")])
    after = table_of([calibration(100, kernel="a")], before)
    assert after.of("llvm", SearchClass.MATMUL) == 128
    assert len(after.calibrations) == 2


def test_a_table_survives_its_file(tmp_path):
    path = tmp_path / "there" / "budgets.json"
    table = table_of([calibration(100)])
    write_table(path, table)
    assert read_table(path) == table


def test_a_missing_or_damaged_table_is_named(tmp_path):
    path = tmp_path / "budgets.json"
    with pytest.raises(NotReadyError, match=r"budgets\.json"):
        read_table(path)
    path.write_text("{")
    with pytest.raises(NotReadyError, match=r"budgets\.json"):
        read_table(path)


def test_the_shipped_table_follows_from_its_own_calibrations():
    shipped = read_table(BUDGETS_FILE)
    assert shipped.budgets == table_of(shipped.calibrations).budgets


def test_the_table_for_people_is_aligned():
    lines = table_lines(table_of([calibration(100, kernel="a"), calibration(300, kernel="b")]))
    assert lines[0].split() == ["backend", "class", "kernels", "max", "T_conv", "budget"]
    assert lines[1].split() == ["llvm", "matmul", "2", "300", "384"]
