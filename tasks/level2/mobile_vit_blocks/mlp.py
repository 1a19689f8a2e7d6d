"""Transformer MLP: linear, exact (erf) GELU, linear."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 1
TOKENS = 197
FEATURES = 192
HIDDEN_FEATURES = 768


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.expand = nn.Linear(features, hidden)
        self.project = nn.Linear(hidden, features)
        for linear in (self.expand, self.project):
            nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
            nn.init.normal_(linear.bias, 0.0, 0.2)

    def forward(self, x):
        return self.project(F.gelu(self.expand(x)))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, FEATURES)]


def get_init_inputs():
    return [FEATURES, HIDDEN_FEATURES]
