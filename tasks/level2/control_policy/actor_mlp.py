"""Actor of a legged-robot policy: observation to joint targets through an MLP with ELU."""

from itertools import pairwise

import torch
from torch import nn

OBSERVATIONS = 235
HIDDEN = [512, 256, 128]
ACTIONS = 12


class Model(nn.Module):
    def __init__(self, observations, hidden, actions):
        super().__init__()
        sizes = [observations, *hidden]
        layers = []
        for fan_in, fan_out in pairwise(sizes):
            layers += [nn.Linear(fan_in, fan_out), nn.ELU()]
        layers.append(nn.Linear(sizes[-1], actions))
        self.layers = nn.Sequential(*layers)
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.normal_(layer.bias, 0.0, 0.2)

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(1, OBSERVATIONS)]


def get_init_inputs():
    return [OBSERVATIONS, HIDDEN, ACTIONS]
