"""MobileNetV2 inverted residual: 1x1 expand, 3x3 depthwise, linear 1x1 project, residual if shapes agree."""

import torch
from torch import nn

IN_CHANNELS = 24
OUT_CHANNELS = 24
HEIGHT = 56
WIDTH = 56
STRIDE = 1
EXPANSION = 6


def conv_bn(in_channels, out_channels, kernel, stride=1, groups=1):
    conv = nn.Conv2d(
        in_channels, out_channels, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
    )
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    norm = nn.BatchNorm2d(out_channels)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return [conv, norm]


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, stride, expansion):
        super().__init__()
        hidden = in_channels * expansion
        layers = []
        if expansion != 1:
            layers += [*conv_bn(in_channels, hidden, 1), nn.ReLU6()]
        layers += [*conv_bn(hidden, hidden, 3, stride=stride, groups=hidden), nn.ReLU6()]
        layers += conv_bn(hidden, out_channels, 1)
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and in_channels == out_channels

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.residual else y


def get_inputs():
    return [torch.randn(1, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, STRIDE, EXPANSION]
