"""Layer normalisation over the last axis, with a learned scale and shift."""

import torch
from torch import nn

BATCH = 1
TOKENS = 197
FEATURES = 192
EPSILON = 1e-6


class Model(nn.Module):
    def __init__(self, features, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(features, eps=epsilon)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [2.0 * torch.randn(BATCH, TOKENS, FEATURES) + 0.5]


def get_init_inputs():
    return [FEATURES, EPSILON]
