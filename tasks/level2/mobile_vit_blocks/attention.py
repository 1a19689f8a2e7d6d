"""Multi-head self-attention of a vision transformer: joint qkv projection, SDPA, output projection."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 1
TOKENS = 197
FEATURES = 192
HEADS = 3


class Model(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.project = nn.Linear(features, features)
        # Logits of unit scale: with the default initialisation the attention is almost uniform.
        nn.init.normal_(self.qkv.weight, 0.0, features**-0.5)
        nn.init.normal_(self.project.weight, 0.0, features**-0.5)
        nn.init.normal_(self.qkv.bias, 0.0, 0.2)
        nn.init.normal_(self.project.bias, 0.0, 0.2)

    def forward(self, x):
        batch, tokens, features = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, features // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.project(y.transpose(1, 2).reshape(batch, tokens, features))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, FEATURES)]


def get_init_inputs():
    return [FEATURES, HEADS]
