"""2-D convolution with symmetric zero padding, without bias."""

import torch
from torch import nn

IN_CHANNELS = 3
HEIGHT = 224
WIDTH = 224
OUT_CHANNELS = 32
KERNEL = [3, 3]
STRIDE = [2, 2]
PADDING = [1, 1]


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel, stride, padding):
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, tuple(kernel), stride=tuple(stride), padding=tuple(padding), bias=False
        )

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(1, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, PADDING]
