"""A transformer MLP long enough to take about 100 ms a call on two cores when it is lowered plainly."""

import torch
from torch import nn

TOKENS = 366
WIDTH = 192
HIDDEN = 768


class Model(nn.Module):
    """Linear, GELU, linear."""

    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        """Return [1, TOKENS, WIDTH] float32 for input of the same shape."""
        return self.down(torch.nn.functional.gelu(self.up(x)))


def get_inputs():
    """Return the activations."""
    return [torch.randn(1, TOKENS, WIDTH)]


def get_init_inputs():
    """Return the widths."""
    return [WIDTH, HIDDEN]
