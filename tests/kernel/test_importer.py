from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import tvm
from torch import nn
from tvm import relax

from edgelab.kernel import guard
from edgelab.kernel.importer import ExportError, ImportedProgram, UnsupportedOperator, import_model
from edgelab.kernel.program import ProgramLevel, ProgramOrigin, TensorSpec

pytestmark = pytest.mark.integration


class Function(nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> object:
        return self.function(*inputs)


class Net(nn.Module):
    """Convolution, batch norm, a tied weight, an 8-bit buffer, a constant of infinity and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.unused = nn.Linear(2, 2)
        self.register_buffer("quantised", torch.randint(0, 255, (4, 8), dtype=torch.uint8))
        self.norm.running_mean = torch.rand(8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        hidden = self.second(self.first(features))
        hidden = hidden.masked_fill(hidden > 100, float("inf"))
        return hidden, features @ (self.quantised.float() - 3.0).T


def run(program: ImportedProgram, inputs: list[torch.Tensor]) -> list[np.ndarray]:
    """Outputs of the program through TVM's own fused pipeline."""
    target = tvm.target.Target("llvm")
    module = tvm.script.from_source(program.program.text)
    executable = relax.build(module, target, relax_pipeline=relax.get_default_pipeline(target))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    arguments = [value.numpy() for value in inputs] + list(program.params.values())
    result = machine["main"](*[tvm.runtime.tensor(value) for value in arguments])
    return [result.numpy()] if program.output_structure == "tensor" else [field.numpy() for field in result]


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture(scope="module")
def imported(net: Net) -> ImportedProgram:
    return import_model(net, [torch.rand(1, 3, 6, 6)], task="net")


def test_inputs_come_first_and_parameters_are_numbered(imported: ImportedProgram):
    assert imported.inputs == (TensorSpec("in0", (1, 3, 6, 6), "float32"),)
    assert list(imported.params) == [f"p{index}" for index in range(len(imported.params))]
    module = tvm.script.from_source(imported.program.text)
    assert [var.name for var in module["main"].params] == ["in0", *imported.params]
    assert int(module["main"].attrs["num_input"]) == 1


def test_outputs_and_structure(imported: ImportedProgram):
    assert imported.outputs == (TensorSpec("out0", (1, 8), "float32"), TensorSpec("out1", (1, 4), "float32"))
    assert imported.output_structure == "tuple"


def test_buffers_are_parameters_under_their_names(imported: ImportedProgram, net: Net):
    by_source = {source: imported.params[name] for name, source in imported.param_sources.items()}
    np.testing.assert_array_equal(by_source["norm.running_mean"], net.norm.running_mean)
    np.testing.assert_array_equal(by_source["quantised"], net.quantised)
    assert by_source["quantised"].dtype == np.uint8


def test_unused_parameters_are_dropped_and_tied_ones_appear_once(imported: ImportedProgram):
    sources = list(imported.param_sources.values())
    assert not [source for source in sources if source.startswith("unused")]
    assert len([source for source in sources if source in ("first.weight", "second.weight")]) == 1


def test_the_text_is_a_program_and_nothing_else(imported: ImportedProgram):
    program = imported.program
    assert program.text.startswith("@I.ir_module\nclass Module:")
    assert "metadata" not in program.text
    assert (program.task, program.level, program.origin) == ("net", ProgramLevel.GRAPH, ProgramOrigin.IMPORT)
    guard.check(program.text)


def test_the_text_is_the_same_each_time(imported: ImportedProgram, net: Net):
    again = import_model(net, [torch.rand(1, 3, 6, 6)], task="net")
    assert again.program == imported.program


def test_the_program_computes_what_the_model_does(imported: ImportedProgram, net: Net):
    x = torch.rand(1, 3, 6, 6)
    with torch.no_grad():
        expected = net(x)
    for got, want in zip(run(imported, [x]), expected, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-3)


CONVERTED = {
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin((0, 1), keepdim=True),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "max with index": lambda x: torch.max(x, 1),
    "min with index": lambda x: tuple(torch.min(x, 0, keepdim=True)),
    "prod": lambda x: x.prod(1),
    "prod of all": lambda x: x.prod(),
    "var_mean": lambda x: torch.var_mean(x, 1),
    "var_mean of all": lambda x: torch.var_mean(x, correction=0, keepdim=True),
    "int8 matmul": lambda x: torch._int_mm(x.to(torch.int8).repeat(8, 1), x.to(torch.int8).T.repeat(1, 8)),
    "scatter_add": lambda x: torch.zeros(4, 8).scatter_add(1, torch.zeros(4, 8, dtype=torch.int64), x),
    "tuple of one": lambda x: (x + 1,),
    "hardswish": torch.nn.functional.hardswish,
    "softmax": lambda x: torch.softmax(x, -1),
    "gelu": torch.nn.functional.gelu,
}


@pytest.mark.parametrize("function", CONVERTED.values(), ids=CONVERTED.keys())
def test_operators_give_what_torch_gives(function: Callable[[torch.Tensor], object]):
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(3))
    program = import_model(Function(function), [x], task="operator")
    guard.check(program.program.text)
    expected = function(x)
    wanted = [expected] if isinstance(expected, torch.Tensor) else list(expected)  # type: ignore[call-overload]
    assert program.output_structure == ("tensor" if isinstance(expected, torch.Tensor) else "tuple")
    for got, want, spec in zip(run(program, [x]), wanted, program.outputs, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-5, atol=1e-5)
        assert got.dtype == want.numpy().dtype == np.dtype(spec.dtype)
        assert got.shape == spec.shape


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: torch.cummax(x, 0)[0], "cummax.default"),
        (lambda x: torch.fft.fft(x).real, "_fft_r2c.default"),
        (lambda x: torch.nn.functional.adaptive_max_pool2d(x[None], 2), "adaptive_max_pool2d.default"),
    ],
)
def test_a_missing_operator_is_named(function: Callable[[torch.Tensor], object], operator: str):
    with pytest.raises(UnsupportedOperator) as caught:
        import_model(Function(function), [torch.rand(4, 8)], task="spectrum")
    assert operator in caught.value.operator
    assert "task spectrum" in caught.value.message
    assert operator in caught.value.message


def test_an_operator_whose_converter_fails_is_named():
    model = Function(lambda x: torch.nn.functional.unfold(x[None, None], 2))
    with pytest.raises(UnsupportedOperator) as caught:
        import_model(model, [torch.rand(4, 8)], task="patches")
    assert caught.value.operator == "permute.default"


REFUSED = {
    "dictionary": lambda x: {"a": x},
    "nested tuple": lambda x: (x, (x, x)),
    "number": lambda x: (x, 3),
    "data-dependent branch": lambda x: x if x.sum() > 0 else -x,
    "raises": lambda x: x.reshape(3, 3),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_a_static_program_is_an_export_error(function: Callable[[torch.Tensor], object]):
    with pytest.raises(ExportError) as caught:
        import_model(Function(function), [torch.rand(4, 8)], task="odd")
    assert "task odd" in caught.value.message


def test_an_input_that_is_no_tensor_is_an_export_error():
    with pytest.raises(ExportError, match="input 1 is a int"):
        import_model(Function(lambda x, n: x * n), [torch.rand(4), 3], task="odd")
