"""Every task of the suite can be asked hidden cases, under any secret."""

from __future__ import annotations

import pytest

from edgelab.bench.error_model_child import reduction_length, wide_form
from edgelab.bench.hidden_cases import FEWEST_CASES
from edgelab.bench.hidden_cases_child import make_cases
from edgelab.bench.task_model_child import TaskModel
from edgelab.bench.tasks import Catalogue, TaskSpec, catalogue_root

SPECS = Catalogue.load(catalogue_root()).specs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [20011, 777_777])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_enough_cases_remain(spec: TaskSpec, seed: int) -> None:
    model = TaskModel(spec.name, spec.path, spec.source())
    length = reduction_length(model, model.draw_inputs(seed))
    made, left_out = make_cases(model, seed, wide_form(model), length)
    assert len(made) >= FEWEST_CASES, [f"{left.structure}: {left.reason}" for left in left_out]
    assert all(left.reason for left in left_out)
