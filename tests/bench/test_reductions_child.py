from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from edgelab.bench.reductions_child import ReductionMeter  # noqa: E402

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("function", "length"),
    [
        (lambda x: x + 1, 1),
        (lambda x: x[:, :2].transpose(0, 1), 1),
        (lambda x: x.sum(), 128),
        (lambda x: x.mean(-1), 32),
        (lambda x: torch.softmax(x, -1), 32),
        (lambda x: torch.softmax(x, 0), 4),
        (lambda x: F.layer_norm(x, (4, 32)), 128),
        (lambda x: F.linear(x, torch.ones(7, 32)), 32),
        (lambda x: F.linear(x, torch.ones(7, 32), torch.ones(7)), 32),
        (lambda x: x @ torch.ones(32, 5), 32),
        (lambda x: F.conv2d(x.view(1, 4, 8, 4), torch.ones(6, 4, 3, 3)), 36),
        (lambda x: F.conv2d(x.view(1, 4, 8, 4), torch.ones(4, 1, 3, 3), groups=4), 9),
        (lambda x: F.embedding(torch.tensor([0]), x), 1),
        (lambda x: F.adaptive_avg_pool2d(x.view(1, 4, 8, 4), 1), 32),
        (lambda x: F.scaled_dot_product_attention(*[x.view(1, 1, 32, 4)] * 3), 32),
        (lambda x: F.group_norm(x.view(1, 4, 32), 2), 64),
        (lambda x: x.cumsum(1), 32),
    ],
)
def test_longest_reduction(function: Callable[[torch.Tensor], object], length: int):
    x = torch.randn(4, 32)
    with torch.no_grad(), ReductionMeter() as meter:
        function(x)
    assert meter.longest == length


def test_longest_of_several_is_kept():
    with torch.no_grad(), ReductionMeter() as meter:
        torch.softmax(torch.randn(2, 50), -1).sum(0)
    assert meter.longest == 50
