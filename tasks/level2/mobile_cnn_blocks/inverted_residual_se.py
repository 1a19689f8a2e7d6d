"""MobileNetV3 inverted residual with squeeze-and-excitation and hard-swish."""

import torch
import torch.nn.functional as F
from torch import nn

IN_CHANNELS = 40
EXPANDED_CHANNELS = 240
SQUEEZED_CHANNELS = 64
OUT_CHANNELS = 40
HEIGHT = 14
WIDTH = 14
KERNEL = 5
STRIDE = 1


def conv_bn(in_channels, out_channels, kernel, stride=1, groups=1):
    conv = nn.Conv2d(
        in_channels, out_channels, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
    )
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    norm = nn.BatchNorm2d(out_channels, eps=1e-3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return nn.Sequential(conv, norm)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)
        for conv in (self.reduce, self.expand):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.normal_(conv.bias, 0.0, 0.5)

    def forward(self, x):
        scale = F.relu(self.reduce(F.adaptive_avg_pool2d(x, 1)))
        return x * F.hardsigmoid(self.expand(scale))


class Model(nn.Module):
    def __init__(self, in_channels, expanded, squeezed, out_channels, kernel, stride):
        super().__init__()
        self.expand = conv_bn(in_channels, expanded, 1)
        self.depthwise = conv_bn(expanded, expanded, kernel, stride=stride, groups=expanded)
        self.excite = SqueezeExcitation(expanded, squeezed)
        self.project = conv_bn(expanded, out_channels, 1)
        self.residual = stride == 1 and in_channels == out_channels

    def forward(self, x):
        y = F.hardswish(self.expand(x))
        y = F.hardswish(self.depthwise(y))
        y = self.project(self.excite(y))
        return x + y if self.residual else y


def get_inputs():
    return [torch.randn(1, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, EXPANDED_CHANNELS, SQUEEZED_CHANNELS, OUT_CHANNELS, KERNEL, STRIDE]
