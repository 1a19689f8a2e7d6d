"""ResNet-8 image classification of MLPerf Tiny: three residual stacks on 32x32 pixels, pooled softmax."""

import torch
import torch.nn.functional as F
from torch import nn

IMAGE_SIZE = 32
FILTERS = 26
CLASSES = 10


def conv(in_channels, out_channels, kernel, stride=1, padding=0):
    layer = nn.Conv2d(in_channels, out_channels, kernel, stride=stride, padding=padding)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


def batch_norm(channels):
    norm = nn.BatchNorm2d(channels, eps=1e-3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return norm


class Stack(nn.Module):
    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        self.stride = stride
        self.conv1 = conv(in_channels, out_channels, 3, stride=stride, padding=1 if stride == 1 else 0)
        self.norm1 = batch_norm(out_channels)
        self.conv2 = conv(out_channels, out_channels, 3, padding=1)
        self.norm2 = batch_norm(out_channels)
        self.shortcut = conv(in_channels, out_channels, 1, stride=stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        # TensorFlow's "same" padding at stride 2 of an even size: nothing before, one after.
        padded = x if self.stride == 1 else F.pad(x, (0, 1, 0, 1))
        y = F.relu(self.norm1(self.conv1(padded)))
        return F.relu(self.shortcut(x) + self.norm2(self.conv2(y)))


class Model(nn.Module):
    def __init__(self, filters, classes):
        super().__init__()
        self.stem = nn.Sequential(conv(3, filters, 3, padding=1), batch_norm(filters), nn.ReLU())
        self.stacks = nn.Sequential(
            Stack(filters, filters, 1), Stack(filters, 2 * filters, 2), Stack(2 * filters, 4 * filters, 2)
        )
        self.classifier = nn.Linear(4 * filters, classes)
        nn.init.normal_(self.classifier.bias, 0.0, 0.2)

    def forward(self, x):
        x = self.stacks(self.stem(x))
        x = torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)
        return torch.softmax(self.classifier(x), dim=-1)


def get_inputs():
    return [torch.randn(1, 3, IMAGE_SIZE, IMAGE_SIZE)]


def get_init_inputs():
    return [FILTERS, CLASSES]
