"""Product with an 8-bit weight that is dequantised on the fly, y = x ((W - zero point) * scale).

W is stored as uint8 [IN_FEATURES, OUT_FEATURES]; every row has its own scale and zero point, both float32.
"""

import torch
from torch import nn

ROWS = 1
IN_FEATURES = 2048
OUT_FEATURES = 5632


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        weight = torch.randint(0, 256, (in_features, out_features), dtype=torch.uint8)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", torch.empty(in_features, 1).uniform_(0.5e-3, 1.5e-3))
        self.register_buffer("zero_point", torch.randint(112, 145, (in_features, 1)).float())

    def forward(self, x):
        weight = (self.weight.to(x.dtype) - self.zero_point) * self.scale
        return torch.matmul(x, weight)


def get_inputs():
    return [torch.randn(ROWS, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
