"""TLIO: 1-D ResNet-18 over a window of inertial data, with two heads for displacement and its log std."""

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS = 6
SAMPLES = 200
WIDTHS = [64, 128, 256, 512]
BLOCKS_PER_STAGE = 2
HEAD_CHANNELS = 128
HEAD_LENGTH = 7
HEAD_FEATURES = 512
OUTPUTS = 3


def conv_bn(in_channels, out_channels, kernel, stride=1):
    conv = nn.Conv1d(in_channels, out_channels, kernel, stride=stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    norm = nn.BatchNorm1d(out_channels)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return nn.Sequential(conv, norm)


def linear(in_features, out_features):
    layer = nn.Linear(in_features, out_features)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class BasicBlock(nn.Module):
    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.first = conv_bn(in_channels, channels, 3, stride=stride)
        self.second = conv_bn(channels, channels, 3)
        changes = stride != 1 or in_channels != channels
        self.shortcut = conv_bn(in_channels, channels, 1, stride=stride) if changes else nn.Identity()

    def forward(self, x):
        return F.relu(self.shortcut(x) + self.second(F.relu(self.first(x))))


class Head(nn.Module):
    def __init__(self, in_channels, channels, length, features, outputs):
        super().__init__()
        self.prepare = conv_bn(in_channels, channels, 1)
        self.fc1 = linear(channels * length, features)
        self.fc2 = linear(features, features)
        self.fc3 = linear(features, outputs)

    def forward(self, x):
        x = torch.flatten(self.prepare(x), 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Model(nn.Module):
    def __init__(self, channels, widths, blocks, head_channels, head_length, head_features, outputs):
        super().__init__()
        layers = [conv_bn(channels, widths[0], 7, stride=2), nn.ReLU(), nn.MaxPool1d(3, stride=2, padding=1)]
        in_channels = widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks):
                layers.append(BasicBlock(in_channels, width, 2 if stage and not block else 1))
                in_channels = width
        self.backbone = nn.Sequential(*layers)
        self.displacement = Head(in_channels, head_channels, head_length, head_features, outputs)
        self.log_std = Head(in_channels, head_channels, head_length, head_features, outputs)

    def forward(self, x):
        x = self.backbone(x)
        return self.displacement(x), self.log_std(x)


def get_inputs():
    return [torch.randn(1, CHANNELS, SAMPLES)]


def get_init_inputs():
    return [CHANNELS, WIDTHS, BLOCKS_PER_STAGE, HEAD_CHANNELS, HEAD_LENGTH, HEAD_FEATURES, OUTPUTS]
