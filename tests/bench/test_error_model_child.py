from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from edgelab.bench.error_model_child import compute, measure, wide_form
from edgelab.bench.task_model_child import TaskModel
from edgelab.drivers.worker_messages import Tolerance
from edgelab.errors import TaskError
from tests.support.task_files import SOUND

pytestmark = pytest.mark.integration

LINE = "torch.relu(self.linear(x))"


def load(forward: str = LINE) -> TaskModel:
    return TaskModel("toy", Path("toy.py"), SOUND.replace(LINE, forward))


def tolerance_of(forward: str) -> Tolerance:
    loaded = load(forward)
    wide = wide_form(loaded)
    return measure(loaded, [compute(loaded, seed, wide) for seed in (1, 2)])[0]


def test_float64_form_leaves_the_model_alone():
    loaded = load()
    wide = wide_form(loaded)
    assert wide is not None
    assert str(next(wide.parameters()).dtype) == "torch.float64"
    assert str(next(loaded.model.parameters()).dtype) == "torch.float32"


def test_cancellation_widens_the_tolerance():
    plain, cancelled = tolerance_of("x"), tolerance_of("(x + 1e4) - 1e4")
    assert cancelled.rtol > 10 * plain.rtol


def test_measured_error_is_that_against_float64():
    loaded = load("(x + 1e4) - 1e4")
    wide = wide_form(loaded)
    result = compute(loaded, 1, wide)
    assert result.wide is not None
    measured = float((result.outputs.tensors[0].double() - result.wide[0]).abs().max())
    assert measure(loaded, [result])[1].max_error == pytest.approx(measured)
    assert 1e-5 < measured < 1e-2


def test_model_without_a_float64_form_rests_on_rounding():
    loaded = load("self.linear(x.float())")
    result = compute(loaded, 1, wide_form(loaded))
    assert result.wide is None
    assert "RuntimeError" in result.wide_problem
    tolerance, model = measure(loaded, [result])
    assert model.max_error is None
    assert tolerance.rtol > 0


def test_integers_are_exact():
    assert tolerance_of("self.linear(x).argmax(-1)") == Tolerance(0.0, 0.0)


def test_integer_that_rounding_decides_is_refused():
    loaded = load("(x * 1e6).to(torch.int32)")
    result = compute(loaded, 1, wide_form(loaded))
    with pytest.raises(TaskError, match="rounding decides it"):
        measure(loaded, [result])


def test_infinite_outputs_do_not_widen_the_tolerance():
    masked = tolerance_of("torch.where(x > 0, x, float('-inf'))")
    assert masked.atol < 1e-4
    assert masked.rtol < 1e-4


def test_nan_is_refused():
    with pytest.raises(TaskError, match="output 0 has NaN for seed 1"):
        compute(load("x.log()"), 1, None)
