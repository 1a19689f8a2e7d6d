"""DS-CNN keyword spotting of MLPerf Tiny: 10x4 convolution, depthwise-separable blocks, pooled softmax."""

import torch
import torch.nn.functional as F
from torch import nn

FRAMES = 49
COEFFICIENTS = 10
CHANNELS = 64
BLOCKS = 4
CLASSES = 12


def conv_bn_relu(in_channels, out_channels, kernel, stride=1, padding=0, groups=1):
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride=stride, padding=padding, groups=groups)
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    nn.init.normal_(conv.bias, 0.0, 0.2)
    norm = nn.BatchNorm2d(out_channels, eps=1e-3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return [conv, norm, nn.ReLU()]


class Model(nn.Module):
    def __init__(self, channels, blocks, classes):
        super().__init__()
        layers = conv_bn_relu(1, channels, (10, 4), stride=2)
        for _ in range(blocks):
            layers += conv_bn_relu(channels, channels, 3, padding=1, groups=channels)
            layers += conv_bn_relu(channels, channels, 1)
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, classes)
        nn.init.normal_(self.classifier.bias, 0.0, 0.2)

    def forward(self, x):
        # TensorFlow's "same" padding of 49x10 for a 10x4 kernel and stride 2: the odd row goes to the end.
        x = self.features(F.pad(x, (1, 1, 4, 5)))
        x = torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)
        return torch.softmax(self.classifier(x), dim=-1)


def get_inputs():
    return [torch.randn(1, 1, FRAMES, COEFFICIENTS)]


def get_init_inputs():
    return [CHANNELS, BLOCKS, CLASSES]
