"""SqueezeNet fire block: 1x1 squeeze, then 1x1 and 3x3 expand side by side, concatenated."""

import torch
import torch.nn.functional as F
from torch import nn

IN_CHANNELS = 128
SQUEEZE_CHANNELS = 32
EXPAND1X1_CHANNELS = 128
EXPAND3X3_CHANNELS = 128
HEIGHT = 27
WIDTH = 27


def conv(in_channels, out_channels, kernel):
    layer = nn.Conv2d(in_channels, out_channels, kernel, padding=kernel // 2)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Model(nn.Module):
    def __init__(self, in_channels, squeeze, expand1x1, expand3x3):
        super().__init__()
        self.squeeze = conv(in_channels, squeeze, 1)
        self.expand1x1 = conv(squeeze, expand1x1, 1)
        self.expand3x3 = conv(squeeze, expand3x3, 3)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], dim=1)


def get_inputs():
    return [torch.randn(1, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, SQUEEZE_CHANNELS, EXPAND1X1_CHANNELS, EXPAND3X3_CHANNELS]
