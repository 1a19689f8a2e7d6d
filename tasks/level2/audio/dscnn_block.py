"""Depthwise-separable block of DS-CNN: 3x3 depthwise, batch norm, ReLU, pointwise, batch norm, ReLU."""

import torch
from torch import nn

CHANNELS = 64
HEIGHT = 25
WIDTH = 5


def conv_bn_relu(channels, kernel, groups):
    conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=groups)
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    nn.init.normal_(conv.bias, 0.0, 0.2)
    norm = nn.BatchNorm2d(channels, eps=1e-3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return [conv, norm, nn.ReLU()]


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(
            *conv_bn_relu(channels, 3, groups=channels), *conv_bn_relu(channels, 1, groups=1)
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(1, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS]
