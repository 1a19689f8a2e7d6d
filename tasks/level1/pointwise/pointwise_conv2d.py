"""Pointwise (1x1) convolution without bias: a matrix product over the channels of every pixel."""

import torch
from torch import nn

IN_CHANNELS = 16
HEIGHT = 112
WIDTH = 112
OUT_CHANNELS = 96


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(1, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
