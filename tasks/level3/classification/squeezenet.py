"""SqueezeNet 1.1: fire blocks between max pools with ceiling sizes, 1x1 classifier, global average pool."""

import torch
import torch.nn.functional as F
from torch import nn

IMAGE_SIZE = 224
CLASSES = 1000
STEM_CHANNELS = 64
# (squeeze, expand of each kernel) of the fire blocks; a max pool comes before the first, third and fifth.
FIRES = [[16, 64], [16, 64], [32, 128], [32, 128], [48, 192], [48, 192], [64, 256], [64, 256]]
POOLED = [0, 2, 4]


def conv(in_channels, out_channels, kernel, stride=1, padding=0):
    layer = nn.Conv2d(in_channels, out_channels, kernel, stride=stride, padding=padding)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Fire(nn.Module):
    def __init__(self, in_channels, squeeze, expand):
        super().__init__()
        self.squeeze = conv(in_channels, squeeze, 1)
        self.expand1x1 = conv(squeeze, expand, 1)
        self.expand3x3 = conv(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], dim=1)


class Model(nn.Module):
    def __init__(self, classes, stem_channels, fires, pooled):
        super().__init__()
        layers = [conv(3, stem_channels, 3, stride=2), nn.ReLU()]
        channels = stem_channels
        for index, (squeeze, expand) in enumerate(fires):
            if index in pooled:
                layers.append(nn.MaxPool2d(3, stride=2, ceil_mode=True))
            layers.append(Fire(channels, squeeze, expand))
            channels = 2 * expand
        self.features = nn.Sequential(*layers)
        self.classifier = conv(channels, classes, 1)

    def forward(self, x):
        x = F.relu(self.classifier(self.features(x)))
        return torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)


def get_inputs():
    return [torch.randn(1, 3, IMAGE_SIZE, IMAGE_SIZE)]


def get_init_inputs():
    return [CLASSES, STEM_CHANNELS, FIRES, POOLED]
