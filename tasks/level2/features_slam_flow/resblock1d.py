"""Residual block of a 1-D ResNet over inertial data: two 3-tap convolutions with batch norm."""

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS = 128
LENGTH = 25


def conv_bn(channels):
    conv = nn.Conv1d(channels, channels, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    norm = nn.BatchNorm1d(channels)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return nn.Sequential(conv, norm)


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = conv_bn(channels)
        self.second = conv_bn(channels)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


def get_inputs():
    return [torch.randn(1, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS]
