"""Every task of the suite: what its source says it is, and fit to judge a candidate."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")

from edgelab.bench.degenerate import find_degeneracies
from edgelab.bench.error_model_child import compute, measure, wide_form
from edgelab.bench.probe_child import TorchProbe
from edgelab.bench.reference import RECHECK_SEED, TIMING_SEED, VERIFICATION_SEEDS
from edgelab.bench.task_model_child import TaskModel
from edgelab.bench.tasks import Catalogue, catalogue_root
from edgelab.bench.tolerance import mismatched
from tests.tasks.expected import EXPECTED

CATALOGUE = Catalogue.load(catalogue_root())
SPECS = {spec.name: spec for spec in CATALOGUE.specs}

integration = pytest.mark.integration
every_task = pytest.mark.parametrize("name", list(SPECS))


def load(name: str) -> TaskModel:
    spec = SPECS[name]
    return TaskModel(name, spec.path, spec.source())


def test_suite_is_the_announced_one():
    assert set(SPECS) == set(EXPECTED)
    assert Counter(spec.level for spec in CATALOGUE.specs) == {1: 12, 2: 12, 3: 6}


def test_seeds_are_all_different():
    assert len({*VERIFICATION_SEEDS, TIMING_SEED, RECHECK_SEED}) == 5


@every_task
def test_catalogue_entry(name: str):
    spec = SPECS[name]
    assert (spec.id, spec.domains) == (EXPECTED[name].id, EXPECTED[name].domains)
    assert spec.check in "VC"
    assert spec.adapted


@integration
@every_task
def test_shapes_are_those_of_the_source(name: str):
    loaded, expected = load(name), EXPECTED[name]
    inputs = loaded.draw_inputs(1)
    outputs = loaded.run(inputs)
    assert tuple(tuple(t.shape) for t in inputs) == expected.inputs
    assert tuple(tuple(t.shape) for t in outputs.tensors) == expected.outputs
    assert {str(t.dtype) for t in outputs.tensors} == {f"torch.{expected.output_dtype}"}
    assert outputs.structure == ("tensor" if len(expected.outputs) == 1 else "tuple")
    if expected.megaparameters is not None:
        count = sum(parameter.numel() for parameter in loaded.model.parameters())
        assert count / 1e6 == pytest.approx(expected.megaparameters, abs=0.006)


@integration
def test_dequantised_weight_is_stored_in_8_bits_with_scale_and_zero_point_a_row():
    buffers = dict(load("dequant_int8_matmul_tinyllama").model.named_buffers())
    assert {name: (str(b.dtype), tuple(b.shape)) for name, b in buffers.items()} == {
        "weight": ("torch.uint8", (2048, 5632)),
        "scale": ("torch.float32", (2048, 1)),
        "zero_point": ("torch.float32", (2048, 1)),
    }


@integration
@every_task
def test_task_is_not_degenerate(name: str):
    loaded = load(name)
    wide = wide_form(loaded)
    tolerance, _ = measure(loaded, [compute(loaded, seed, wide) for seed in VERIFICATION_SEEDS])
    assert find_degeneracies(TorchProbe(loaded), tolerance, VERIFICATION_SEEDS) == []


@integration
@pytest.mark.parametrize("name", [name for name in SPECS if name not in ("argmax_vocab_qwen",)])
def test_work_in_half_precision_is_not_accepted(name: str):
    loaded = load(name)
    wide = wide_form(loaded)
    results = [compute(loaded, seed, wide) for seed in VERIFICATION_SEEDS]
    tolerance, _ = measure(loaded, results)
    for parameter in loaded.model.parameters():
        parameter.data = parameter.data.half().float()
    halved = loaded.run([t.half().to(t.dtype) for t in results[0].inputs])
    wrong = [
        mismatched(got.numpy(), want.numpy(), tolerance).mean()
        for got, want in zip(halved.tensors, results[0].outputs.tensors, strict=True)
    ]
    assert max(wrong) > 0.1
