"""Anomaly-detection autoencoder of MLPerf Tiny: fully connected layers with batch norm and ReLU."""

import torch
from torch import nn

ROWS = 16
FEATURES = 640
# Widths between input and output: four layers, the bottleneck, four layers.
HIDDEN = [128, 128, 128, 128, 8, 128, 128, 128, 128]


def linear(in_features, out_features):
    layer = nn.Linear(in_features, out_features)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


def batch_norm(features):
    norm = nn.BatchNorm1d(features, eps=1e-3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    nn.init.normal_(norm.running_mean, 0.0, 0.2)
    nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return norm


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        layers = []
        width = features
        for out_features in hidden:
            layers += [linear(width, out_features), batch_norm(out_features), nn.ReLU()]
            width = out_features
        layers.append(linear(width, features))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(ROWS, FEATURES)]


def get_init_inputs():
    return [FEATURES, HIDDEN]
