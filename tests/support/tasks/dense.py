"""A small KernelBench-style task whose kernel has a space worth searching: relu(x @ w + b)."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 48)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
