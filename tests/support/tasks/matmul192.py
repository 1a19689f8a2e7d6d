"""A task of about a millisecond and more: x times a weight, 192 x 192."""

import torch
from torch import nn

N = 192


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n, n) - 0.5)

    def forward(self, x):
        return torch.matmul(x, self.weight)


def get_inputs():
    return [torch.randn(N, N)]


def get_init_inputs():
    return [N]
