"""2-D convolution with bias and TensorFlow's "same" padding: the odd row or column goes to the end."""

import math

import torch
import torch.nn.functional as F
from torch import nn

IN_CHANNELS = 1
HEIGHT = 49
WIDTH = 10
OUT_CHANNELS = 64
KERNEL = [10, 4]
STRIDE = [2, 2]


def same_padding(size, kernel, stride):
    total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel, stride, height, width):
        super().__init__()
        top, bottom = same_padding(height, kernel[0], stride[0])
        left, right = same_padding(width, kernel[1], stride[1])
        self.padding = (left, right, top, bottom)
        self.conv = nn.Conv2d(in_channels, out_channels, tuple(kernel), stride=tuple(stride))

    def forward(self, x):
        return self.conv(F.pad(x, self.padding))


def get_inputs():
    return [torch.randn(1, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE, HEIGHT, WIDTH]
