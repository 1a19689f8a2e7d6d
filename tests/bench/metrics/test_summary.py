"""Rows, totals and the failure taxonomy of a selection."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.metrics.failures import COUNTED_CLASSES, failure_rows
from edgelab.bench.metrics.summary import summary_rows, totals
from tests.support.instances import a_failure, an_instance, instances

SELECTIONS = st.lists(instances(), max_size=30)


def test_a_group_has_a_row_a_level_and_one_over_all():
    selection = [
        an_instance("a", level=1), an_instance("b", level=2), a_failure("c", level=2),
        an_instance("mine", level=0),
    ]  # fmt: skip
    rows = summary_rows(selection)
    assert [(row.level, row.instances) for row in rows] == [(1, 1), (2, 2), (None, 3), (0, 1)]
    assert all((row.device, row.backend, row.method) == ("orin", "cuda", "candidate") for row in rows)
    total = totals(selection)
    assert [(row.device, row.backend, row.level, row.instances) for row in total.physical] == [
        (None, None, None, 3)
    ]


def test_simulated_and_physical_never_mix():
    rows = summary_rows([an_instance(), an_instance(simulated=True)])
    assert [(row.simulated, row.instances) for row in rows] == [(False, 1), (True, 1)]
    total = totals([an_instance(speedup=2.0), an_instance(simulated=True, speedup=8.0)])
    assert round(total.physical[0].geometric_mean.value or 0, 9) == 2.0
    assert round(total.simulated[0].geometric_mean.value or 0, 9) == 8.0


def test_methods_and_baselines_have_rows_of_their_own():
    selection = [an_instance(), an_instance(method="import"), an_instance(baseline_kind="tuned")]
    assert len(summary_rows(selection)) == len(totals(selection).physical) == 3


def test_counts_of_a_row_say_what_is_left_out():
    (row,) = summary_rows(
        [
            an_instance("a"),
            an_instance("b", quality="paired", speedup=3.0),
            an_instance("c", verdict="unstable", quality="none"),
            a_failure("d", "", verdict="missing", compiled=False),
            a_failure("e", "infrastructure", verdict="not_judged"),
        ]
    )
    assert (row.instances, row.judged, row.missing, row.not_judged, row.unstable) == (5, 4, 1, 1, 1)
    assert [(one.quality, one.geometric_mean.count) for one in row.qualities] == [
        ("strict", 1),
        ("paired", 1),
    ]
    assert row.fast[0].share.count == 1
    assert row.fast_any_quality[0].share.count == 2


def test_failures_are_counted_by_backend_and_level():
    rows = failure_rows(
        [
            a_failure("a", "memory"), a_failure("b", "memory"), a_failure("c", "hack", level=2),
            a_failure("d", "memory", backend="llvm"), an_instance("e"),
            a_failure("f", "infrastructure", verdict="not_judged"),
            a_failure("g", "of a newer version", level=2),
        ]
    )  # fmt: skip
    found = [(row.backend, row.level, row.failed, row.judged) for row in rows]
    assert found == [("cuda", 1, 2, 3), ("cuda", 2, 2, 2), ("llvm", 1, 1, 1)]
    assert rows[0].classes == dict.fromkeys(COUNTED_CLASSES, 0) | {"memory": 2}
    assert rows[1].classes["of a newer version"] == 1


def test_infrastructure_is_no_class_that_counts():
    assert "infrastructure" not in COUNTED_CLASSES
    assert "hack" in COUNTED_CLASSES


@given(SELECTIONS, st.randoms())
def test_the_order_of_instances_does_not_matter(selection, chance: random.Random):
    shuffled = chance.sample(selection, len(selection))
    assert summary_rows(shuffled) == summary_rows(selection)
    assert totals(shuffled) == totals(selection)
    assert failure_rows(shuffled) == failure_rows(selection)


@given(SELECTIONS)
def test_every_instance_is_in_exactly_one_row_of_a_level(selection):
    rows = [row for row in summary_rows(selection) if row.level is not None]
    assert sum(row.instances for row in rows) == len(selection)
    for row in rows:
        assert row.judged + row.not_judged == row.instances
        assert row.csr.total == row.judged
        assert row.missing + row.csr.count <= row.judged


@given(SELECTIONS)
def test_totals_are_over_the_suite_and_failures_over_all_that_failed(selection):
    total = totals(selection)
    counted = sum(row.instances for row in (*total.physical, *total.simulated))
    assert counted == sum(instance.level > 0 for instance in selection)
    failed = sum(row.failed for row in failure_rows(selection))
    assert failed == sum(instance.verdict == "failed" for instance in selection)
