from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from edgelab.bench.degenerate import find_degeneracies
from edgelab.bench.probe_child import TorchProbe
from edgelab.bench.task_model_child import TaskModel
from edgelab.drivers.worker_messages import Tolerance
from tests.support.task_files import SOUND

pytestmark = pytest.mark.integration

LINE = "torch.relu(self.linear(x))"


def probe(forward: str = LINE, *, member: str = "pass") -> TorchProbe:
    text = SOUND.replace(LINE, forward).replace("super().__init__()", f"super().__init__(); {member}")
    return TorchProbe(TaskModel("toy", Path("toy.py"), text))


def kinds(toy: TorchProbe) -> set[tuple[str, str]]:
    return {(f.kind, f.subject) for f in find_degeneracies(toy, Tolerance(1e-5, 1e-5), (1, 2))}


def test_sound_model_has_no_findings():
    assert kinds(probe()) == set()


def test_bias_of_zeros_is_found():
    zeros = "self.shift = nn.Parameter(torch.zeros(3))"
    assert kinds(probe(f"{LINE} + self.shift", member=zeros)) == {("ignores_weight", "shift")}


def test_unused_buffer_is_found():
    buffer = "self.register_buffer('spare', torch.arange(4.0))"
    assert kinds(probe(member=buffer)) == {("ignores_weight", "spare")}


def test_single_element_is_changed_and_not_only_moved():
    scale = "self.scale = nn.Parameter(torch.tensor(2.0))"
    assert kinds(probe(f"{LINE} * self.scale", member=scale)) == set()


def test_counter_of_batch_norm_is_not_a_weight():
    assert "norm.num_batches_tracked" not in probe(member="self.norm = nn.BatchNorm1d(3)").weights


def test_weights_are_put_back_after_a_disturbance():
    toy = probe()
    before = toy.run(1)[0].copy()
    assert not np.array_equal(toy.run(1, disturbed="linear.weight")[0], before)
    assert np.array_equal(toy.run(1)[0], before)


def test_one_input_is_drawn_again():
    toy = probe()
    assert not np.array_equal(toy.run(1, redrawn=0)[0], toy.run(1)[0])
