"""Depthwise 2-D convolution: one filter a channel, padding that keeps the size at stride 1, without bias."""

import torch
from torch import nn

CHANNELS = 240
HEIGHT = 14
WIDTH = 14
KERNEL = 5
STRIDE = 1


class Model(nn.Module):
    def __init__(self, channels, kernel, stride):
        super().__init__()
        self.conv = nn.Conv2d(
            channels, channels, kernel, stride=stride, padding=kernel // 2, groups=channels, bias=False
        )

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(1, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL, STRIDE]
