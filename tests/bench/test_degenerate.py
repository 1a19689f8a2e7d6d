"""The refusal must be able to refuse: each toy task here is degenerate in one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from edgelab.bench.degenerate import find_degeneracies
from edgelab.drivers.worker_messages import Tolerance

TOLERANCE = Tolerance(rtol=1e-5, atol=1e-5)
SEEDS = (1, 2)


class ToyProbe:
    """A task of two inputs, each of 64 standard normal numbers, and some weights."""

    input_count = 2

    def __init__(self, function: Callable[..., object], **weights: np.ndarray) -> None:
        self._function = function
        self._weights = weights

    @property
    def weights(self) -> Sequence[str]:
        return tuple(self._weights)

    def run(self, seed: int, *, redrawn: int | None = None, disturbed: str | None = None) -> list[np.ndarray]:
        seeds = [seed + 1000 * (index == redrawn) for index in range(2)]
        x, y = (np.random.default_rng([s, i]).standard_normal(64).astype("f4") for i, s in enumerate(seeds))
        weights: Mapping[str, np.ndarray] = {
            name: np.roll(value, 1) if name == disturbed else value for name, value in self._weights.items()
        }
        result = self._function(x, y, **weights)
        return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


SCALE = np.linspace(0.5, 1.5, 64, dtype="f4")


def kinds(
    function: Callable[..., object], tolerance: Tolerance = TOLERANCE, **weights: np.ndarray
) -> set[str]:
    return {finding.kind for finding in find_degeneracies(ToyProbe(function, **weights), tolerance, SEEDS)}


def test_sound_task_has_no_findings():
    assert kinds(lambda x, y, w: w * x + y, w=SCALE) == set()


def test_relu_is_sound():
    assert kinds(lambda x, y: np.maximum(x + y, 0)) == set()


def test_integer_answer_that_moves_with_its_inputs_is_sound():
    assert kinds(lambda x, y: np.argsort(x + y)) == set()


def test_constant_output():
    assert "constant" in kinds(lambda x, y: np.full(64, 3.0, "f4"))


def test_output_that_is_constant_but_for_less_than_the_tolerance():
    assert "constant" in kinds(lambda x, y: 3.0 + 1e-7 * (x + y))


def test_stored_answer_that_is_not_constant():
    assert kinds(lambda x, y: SCALE) == {"ignores_inputs", "ignores_input"}


def test_constant_class_index():
    assert "ignores_inputs" in kinds(lambda x, y: np.array([7], "i8"))


def test_near_zero_output():
    assert "near_zero" in kinds(lambda x, y: 1e-7 * (x + y), Tolerance(1e-5, 1e-12))


def test_zeros_pass_a_tolerance_that_is_wide_for_the_output():
    assert "zeros_pass" in kinds(lambda x, y: x + y, Tolerance(1e-5, 10.0))


def test_dead_relu():
    assert "zeros_pass" in kinds(lambda x, y: np.maximum(x + y - 5, 0))


def test_nan():
    def root(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.sqrt(x + y)

    assert "nan" in kinds(root)


def test_input_that_does_not_matter():
    findings = find_degeneracies(ToyProbe(lambda x, y: x), TOLERANCE, SEEDS)
    assert [(f.kind, f.subject) for f in findings] == [("ignores_input", "in1")]


def test_input_that_matters_less_than_the_tolerance():
    assert kinds(lambda x, y: x + 1e-7 * y) == {"ignores_input"}


def test_weight_that_does_not_matter():
    findings = find_degeneracies(ToyProbe(lambda x, y, w, v: w * x + y, w=SCALE, v=SCALE), TOLERANCE, SEEDS)
    assert [(f.kind, f.subject) for f in findings] == [("ignores_weight", "v")]


def test_weight_of_ones_can_be_left_out():
    assert kinds(lambda x, y, w: w * x + y, w=np.ones(64, "f4")) == {"ignores_weight"}


def test_each_output_is_judged():
    findings = find_degeneracies(ToyProbe(lambda x, y: (x + y, np.zeros(64, "f4"))), TOLERANCE, SEEDS)
    assert {f.subject for f in findings} == {"out1"}
    assert {f.kind for f in findings} == {"near_zero", "zeros_pass", "constant"}


def test_one_seed_cannot_tell():
    with pytest.raises(ValueError, match="two seeds"):
        find_degeneracies(ToyProbe(lambda x, y: x + y), TOLERANCE, (1,))
