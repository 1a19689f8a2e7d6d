"""A small KernelBench-style task: relu(x) * weight + bias over 64 x 64."""

import torch
from torch import nn

ROWS = 64
COLUMNS = 64


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns) + 0.5)

    def forward(self, x):
        return torch.relu(x) * self.weight


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
