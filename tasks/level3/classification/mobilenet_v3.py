"""MobileNetV3-small: inverted residuals with squeeze-and-excitation and hard-swish, pooled classifier."""

import torch
import torch.nn.functional as F
from torch import nn

IMAGE_SIZE = 224
CLASSES = 1000
STEM_CHANNELS = 16
# (kernel, expanded channels, output channels, squeeze-and-excitation, hard-swish, stride) a block.
BLOCKS = [
    [3, 16, 16, 1, 0, 2],
    [3, 72, 24, 0, 0, 2],
    [3, 88, 24, 0, 0, 1],
    [5, 96, 40, 1, 1, 2],
    [5, 240, 40, 1, 1, 1],
    [5, 240, 40, 1, 1, 1],
    [5, 120, 48, 1, 1, 1],
    [5, 144, 48, 1, 1, 1],
    [5, 288, 96, 1, 1, 2],
    [5, 576, 96, 1, 1, 1],
    [5, 576, 96, 1, 1, 1],
]
HEAD_CHANNELS = 576
HIDDEN_FEATURES = 1024


def conv_bn(in_channels, out_channels, kernel, stride=1, groups=1):
    conv = nn.Conv2d(
        in_channels, out_channels, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
    )
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    # With this momentum one pass in training mode leaves its own statistics.
    norm = nn.BatchNorm2d(out_channels, eps=1e-3, momentum=1.0)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    return nn.Sequential(conv, norm)


def multiple_of_8(value):
    rounded = max(8, int(value + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * value else rounded


class SqueezeExcitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        squeezed = multiple_of_8(channels // 4)
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)
        for conv in (self.reduce, self.expand):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.normal_(conv.bias, 0.0, 0.5)

    def forward(self, x):
        scale = F.relu(self.reduce(F.adaptive_avg_pool2d(x, 1)))
        return x * F.hardsigmoid(self.expand(scale))


class InvertedResidual(nn.Module):
    def __init__(self, in_channels, kernel, expanded, out_channels, excite, hardswish, stride):
        super().__init__()
        activation = nn.Hardswish if hardswish else nn.ReLU
        layers = []
        if expanded != in_channels:
            layers += [conv_bn(in_channels, expanded, 1), activation()]
        layers += [conv_bn(expanded, expanded, kernel, stride=stride, groups=expanded), activation()]
        if excite:
            layers.append(SqueezeExcitation(expanded))
        layers.append(conv_bn(expanded, out_channels, 1))
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and in_channels == out_channels

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.residual else y


class Model(nn.Module):
    def __init__(self, stem_channels, blocks, head_channels, hidden, classes, image_size):
        super().__init__()
        self.stem = conv_bn(3, stem_channels, 3, stride=2)
        channels = stem_channels
        layers = []
        for kernel, expanded, out_channels, excite, hardswish, stride in blocks:
            layers.append(
                InvertedResidual(channels, kernel, expanded, out_channels, excite, hardswish, stride)
            )
            channels = out_channels
        self.blocks = nn.Sequential(*layers)
        self.head = conv_bn(channels, head_channels, 1)
        self.hidden = nn.Linear(head_channels, hidden)
        self.classifier = nn.Linear(hidden, classes)
        for linear in (self.hidden, self.classifier):
            nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
            nn.init.normal_(linear.bias, 0.0, 0.2)
        self.calibrate(image_size)

    def calibrate(self, image_size):
        # Statistics that do not fit the activations would let so deep a network amplify rounding errors.
        with torch.no_grad():
            self.train()(torch.randn(4, 3, image_size, image_size))

    def forward(self, x):
        x = self.blocks(F.hardswish(self.stem(x)))
        x = F.hardswish(self.head(x))
        x = torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)
        return self.classifier(F.hardswish(self.hidden(x)))


def get_inputs():
    return [torch.randn(1, 3, IMAGE_SIZE, IMAGE_SIZE)]


def get_init_inputs():
    return [STEM_CHANNELS, BLOCKS, HEAD_CHANNELS, HIDDEN_FEATURES, CLASSES, IMAGE_SIZE]
