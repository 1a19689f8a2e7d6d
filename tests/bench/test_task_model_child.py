from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from edgelab.bench.task_model_child import TaskModel  # noqa: E402
from edgelab.errors import TaskError  # noqa: E402
from tests.support.task_files import SOUND  # noqa: E402

pytestmark = pytest.mark.integration

PATH = Path("toy.py")


def load(text: str = SOUND) -> TaskModel:
    return TaskModel("toy", PATH, text)


def load_and_run(text: str) -> None:
    task = load(text)
    task.run(task.draw_inputs(1))


def line_of(text: str, fragment: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if fragment in line)


def test_weights_do_not_depend_on_what_was_drawn_before():
    first = load().model.linear.weight
    torch.manual_seed(999)
    assert torch.equal(first, load().model.linear.weight)


def test_inputs_follow_their_seed_and_differ_between_seeds():
    task = load()
    (a,), (b,), (c,) = task.draw_inputs(11), task.draw_inputs(23), task.draw_inputs(11)
    assert torch.equal(a, c)
    assert not torch.equal(a, b)


def test_model_is_in_evaluation_mode():
    text = SOUND.replace("torch.relu(self.linear(x))", "nn.functional.dropout(x, 0.5, self.training)")
    task = load(text)
    (x,) = task.draw_inputs(1)
    assert torch.equal(task.run((x,)).tensors[0], x)


def test_tensor_and_tuple_are_told_apart():
    x = torch.ones(4, 8)
    assert load().run((x,)).structure == "tensor"
    outputs = load(SOUND.replace("torch.relu(self.linear(x))", "[x, x.argmax(-1)]")).run((x,))
    assert outputs.structure == "tuple"
    assert [t.dtype for t in outputs.tensors] == [torch.float32, torch.int64]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("FEATURES = 8", "FEATURES = 8 // 0", "importing the file raised ZeroDivisionError: integer"),
        ("FEATURES = 8", "import no_such_module", "importing the file raised ModuleNotFoundError: No module"),
        ("FEATURES = 8", "FEATURES = = 8", "importing the file raised SyntaxError: invalid syntax"),
        ("FEATURES = 8", "raise SystemExit(0)", "importing the file raised SystemExit: 0"),
        (
            "super().__init__()",
            "super().__init__(); int('x')",
            "Model(*get_init_inputs()) raised ValueError: inv",
        ),
        ("return [FEATURES]", "return [FEATURE]", "get_init_inputs() raised NameError: name 'FEATURE'"),
        ("torch.randn(4, FEATURES)", "torch.randn(-1)", "get_inputs() raised RuntimeError: Trying to create"),
        (
            "torch.relu(self.linear(x))",
            "self.linear(x.T)",
            "Model.forward raised RuntimeError: mat1 and mat2",
        ),
    ],
)
def test_whatever_the_file_raises_is_named_with_its_line(old: str, new: str, what: str):
    text = SOUND.replace(old, new)
    with pytest.raises(TaskError) as caught:
        load_and_run(text)
    assert f"task toy: {what}" in caught.value.message
    assert f"toy.py, line {line_of(text, new)})" in caught.value.message


def test_innermost_line_of_the_file_is_named():
    text = (
        SOUND.replace("torch.relu(self.linear(x))", "helper(x)")
        + "\n\ndef helper(x):\n    return x.no_such\n"
    )
    task = load(text)
    with pytest.raises(TaskError, match=rf"AttributeError: .*line {line_of(text, 'no_such')}\)"):
        task.run(task.draw_inputs(1))


def test_wrong_number_of_arguments_points_at_the_function():
    text = SOUND.replace("return [FEATURES]", "return [1, 2, 3]")
    with pytest.raises(TaskError, match=rf"TypeError: .*line {line_of(text, 'def __init__')}\)"):
        load(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class Model(nn.Module)", "class Net(nn.Module)", "has no class Model"),
        ("def get_inputs", "def inputs", "has no function get_inputs"),
        ("def get_init_inputs", "def init_inputs", "has no function get_init_inputs"),
        ("[torch.randn(4, FEATURES)]", "torch.randn(4, FEATURES)", "returns Tensor, not a list"),
        ("[torch.randn(4, FEATURES)]", "[]", "not a list of tensors"),
        ("[torch.randn(4, FEATURES)]", "[torch.ones(4), 3]", "get_inputs()[1] is int, not a tensor"),
        ("[torch.randn(4, FEATURES)]", "[torch.ones(4).bfloat16()]", "has dtype torch.bfloat16"),
        ("[torch.randn(4, FEATURES)]", "[torch.ones(0, 4)]", "has shape (0, 4), without any element"),
        ("[torch.randn(4, FEATURES)]", "[torch.eye(4).to_sparse()]", "is not a dense tensor"),
        ("torch.relu(self.linear(x))", "{'y': x}", "returns dict, not a tensor"),
        ("torch.relu(self.linear(x))", "(x, (x, x))", "output 1 is tuple, not a tensor"),
        ("torch.relu(self.linear(x))", "torch.fft.fft(x)", "has dtype torch.complex64"),
        ("torch.relu(self.linear(x))", "x.mul_(2)", "writes into its input 0"),
    ],
)
def test_unusable_parts_are_named(old: str, new: str, message: str):
    with pytest.raises(TaskError) as caught:
        load_and_run(SOUND.replace(old, new))
    assert message in caught.value.message
    assert "toy.py" in caught.value.message
