"""Matrix product with a stored weight, y = x W^T (+ b); one row makes it a GEMV."""

import torch
from torch import nn

ROWS = 197
IN_FEATURES = 192
OUT_FEATURES = 576
BIAS = 1


class Model(nn.Module):
    def __init__(self, in_features, out_features, bias):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=bool(bias))

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(ROWS, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, BIAS]
