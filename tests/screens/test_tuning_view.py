"""A watched tuning: what its events add up to, and what its panels say."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.events import TuningEnded, TuningStarted
from edgelab.screens.run_feed import RunSnapshot
from edgelab.screens.run_view import EMPTY, fold
from edgelab.screens.tuning_panels import (
    convergence_plot,
    cost_lines,
    kernel_lines,
    outcome_lines,
    program_plot,
)
from edgelab.screens.tuning_view import TuningView, taken
from edgelab.widgets.spans import text_of, width
from tests.support.ui_data import TASK, Run
from tests.support.ui_tunings import KERNELS, progress, tuned, tuning

STARTED = TuningStarted(task=TASK, device="local", target="llvm", tvm_version="0.27.0", kernels=KERNELS)


def view_of(run: Run) -> TuningView:
    view = fold(EMPTY, run.events).tuning
    assert view is not None
    return view


def test_a_tuning_under_way_shows_where_it_is():
    view = view_of(tuning())
    assert [kernel.state for kernel in view.kernels] == ["tuned", "searched", "waiting", "waiting"]
    assert view.current is view.kernels[1]
    assert (view.trials, view.failed) == (256 + 96, 8)
    assert view.kernels[0].latency_s == 0.59e-3
    assert view.kernels[1].best_s == (None, 690e-6, 230e-6)
    assert view.spent_s == pytest.approx(11 * (0.8 + 3.4 + 1.6))


def test_what_is_known_of_a_kernel_is_never_worse_than_its_default_schedule():
    view = taken(taken(None, STARTED), progress(KERNELS[0], 1, 9e-3))
    assert view is not None
    assert view.kernels[0].latency_s == KERNELS[0].plain_latency_s


def test_the_program_takes_all_kernels_as_often_as_it_calls_them():
    view = view_of(tuning())
    assert view.program_s[-1] == pytest.approx(3 * 0.59e-3 + 230e-6 + 18e-6 + 9e-6)
    unknown = msgspec.structs.replace(KERNELS[0], plain_latency_s=None)
    started = msgspec.structs.replace(STARTED, kernels=(unknown, *KERNELS[1:]))
    view = taken(taken(None, started), progress(KERNELS[1], 1, 7e-4))
    assert view is not None
    assert view.program_s == (None,)


def test_an_end_whose_beginning_was_not_seen_shows_nothing():
    ended = TuningEnded(
        task=TASK, device="local", trials=1, elapsed_s=1.0, plain_latency_s=None, tuned_latency_s=None
    )
    assert taken(None, ended) is None


def test_a_default_schedule_far_away_does_not_flatten_the_curve():
    near = convergence_plot(view_of(tuning()))
    assert near.level == KERNELS[1].plain_latency_s
    far = convergence_plot(taken(taken(None, STARTED), progress(KERNELS[0], 1, 2e-5)))  # type: ignore[arg-type]
    assert far.level is None
    assert "plain 2.41 ms" in far.note


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.floats(1e-7, 1.0))), max_size=40))
def test_any_course_is_shown_within_its_panels(course: list[tuple[int, float | None]]):
    view = taken(None, STARTED)
    for batch, (index, best_s) in enumerate(course, 1):
        view = taken(view, progress(KERNELS[index], batch, best_s))
    assert view is not None
    assert sum(len(kernel.best_s) for kernel in view.kernels) == len(course)
    for cells, rows in ((40, 3), (79, 9), (160, 12)):
        lines = kernel_lines(view, cells, rows)
        assert len(lines) <= max(rows, 2)
        for line in [*lines, *cost_lines(view, cells)]:
            assert width(line) <= cells
    for plot in (convergence_plot(view), program_plot(view)):
        assert plot.title


@pytest.mark.parametrize(
    ("run", "state", "said"),
    [
        (tuning(), "running", "Searching schedules for fused_dense_add_relu: 352 trials so far."),
        (tuning(), "interrupted", "--resume"),
        (tuning(), "lost", "LOST"),
        (tuning(), "done", "FAILED"),
        (tuned(), "done", "edgelab run"),
    ],
)
def test_the_outcome_says_what_to_do(run: Run, state: str, said: str):
    snapshot = RunSnapshot(run.record.id, fold(EMPTY, run.events), run.record, state)  # type: ignore[arg-type]
    text = text_of(outcome_lines(snapshot, view_of(run), 200))
    assert said in text
    assert TASK in text or state == "running"
