"""ConvNeXt block: 7x7 depthwise, layer norm over channels, 1x1 MLP with GELU, layer scale, residual."""

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS = 160
HEIGHT = 14
WIDTH = 14
EXPANSION = 4
KERNEL = 7


class Model(nn.Module):
    def __init__(self, channels, expansion, kernel):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.expand = nn.Conv2d(channels, channels * expansion, 1)
        self.project = nn.Conv2d(channels * expansion, channels, 1)
        self.scale = nn.Parameter(torch.empty(channels, 1, 1).uniform_(0.5, 1.5))
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        for conv in (self.expand, self.project):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.normal_(conv.bias, 0.0, 0.2)

    def forward(self, x):
        y = self.depthwise(x)
        y = self.norm(y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        y = self.project(F.gelu(self.expand(y)))
        return x + self.scale * y


def get_inputs():
    return [torch.randn(1, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, EXPANSION, KERNEL]
