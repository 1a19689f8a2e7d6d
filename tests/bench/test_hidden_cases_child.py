"""Hidden cases of small models: what is made, with which tolerance, and what is left out and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgelab.bench.error_model_child import reduction_length, wide_form
from edgelab.bench.hidden_cases import FEWEST_CASES
from edgelab.bench.hidden_cases_child import LARGEST_RTOL, MadeCase, make_cases
from edgelab.bench.least_work_child import least_work
from edgelab.bench.structural_inputs import STRUCTURES
from edgelab.bench.task_model_child import TaskModel

_FILE = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16) + 0.5)

    def forward(self, {names}):
        return {forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def _model(forward: str, inputs: str = "torch.randn(32, 16)", names: str = "x") -> TaskModel:
    text = _FILE.format(forward=forward, inputs=inputs, names=names)
    return TaskModel("toy", Path("toy.py"), text)


def _made(model: TaskModel, seed: int = 5) -> tuple[dict[str, MadeCase], dict[str, str]]:
    length = reduction_length(model, model.draw_inputs(seed))
    made, left_out = make_cases(model, seed, wide_form(model), length)
    assert len(made) + len(left_out) == len(STRUCTURES)
    return {case.case.structure: case for case in made}, {left.structure: left.reason for left in left_out}


def test_all_structures_of_a_plain_model() -> None:
    made, left_out = _made(_model("torch.relu(x) * self.weight"))
    assert set(made) == set(STRUCTURES)
    assert left_out == {}
    for case in made.values():
        assert case.outputs[0].shape == (32, 16)
        assert np.array_equal(case.outputs[0].numpy() > 0, case.inputs[0].numpy() > 0)
        assert 0 < case.case.tolerance.rtol < LARGEST_RTOL


def test_the_tolerance_follows_the_size_of_the_outputs() -> None:
    made, _ = _made(_model("torch.relu(x) * self.weight"))
    assert made["large"].case.tolerance.atol > 10 * made["permuted"].case.tolerance.atol
    assert made["small"].case.tolerance.atol < 0.1 * made["permuted"].case.tolerance.atol


def test_the_same_seed_gives_the_same_cases() -> None:
    first, _ = _made(_model("x.sum(1) * self.weight.sum()"))
    again, _ = _made(_model("x.sum(1) * self.weight.sum()"))
    other, _ = _made(_model("x.sum(1) * self.weight.sum()"), seed=6)
    assert first.keys() == again.keys()
    for structure, case in first.items():
        assert np.array_equal(case.inputs[0], again[structure].inputs[0])
        assert not np.array_equal(case.inputs[0], other[structure].inputs[0])


@pytest.mark.parametrize(
    ("forward", "inputs", "structure", "reason"),
    [
        ("torch.exp(x) * self.weight", "torch.randn(32, 16)", "large", "the reference is not finite"),
        ("x.argmax(1)", "torch.randn(32, 16)", "constant_rows", "rounding decides an integer output"),
        (
            "torch.relu(x) * self.weight",
            "torch.rand(32, 16)",
            "negated",
            "it changes nothing in these inputs",
        ),
        ("torch.relu(-x - 50)", "torch.rand(32, 16)", "small", "zeros would pass"),
        (
            "x.half() * 2",
            "torch.rand(32, 16).half() * 4000",
            "large",
            "an input leaves the range of its dtype",
        ),
        (
            "torch.sin(x * 1e6)",
            "torch.randn(32, 16)",
            "negated",
            "rounding decides the result",
        ),
    ],
)
def test_what_is_left_out(forward: str, inputs: str, structure: str, reason: str) -> None:
    _, left_out = _made(_model(forward, inputs))
    assert reason in left_out[structure]


def test_indices_stay_valid() -> None:
    model = _model(
        "table[rows] * self.weight", "torch.randn(40, 16), torch.randint(0, 40, (8,))", "table, rows"
    )
    made, _ = _made(model)
    assert len(made) >= FEWEST_CASES
    for case in made.values():
        rows = case.inputs[1].numpy()
        assert rows.min() >= 0
        assert rows.max() < 40


def test_least_work_counts_what_matters() -> None:
    model = _model("x[::2] @ self.weight.reshape(16, 1)")
    inputs = model.draw_inputs(1)
    work = least_work(model, inputs, model.run(inputs))
    assert work.input_bytes == 16 * 16 * 4
    assert work.weight_bytes == 16 * 4
    assert work.output_bytes == 16 * 4
    assert work.flops == 2 * 16 * 16
