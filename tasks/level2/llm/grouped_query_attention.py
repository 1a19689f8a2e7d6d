"""Causal grouped-query attention over given q, k and v: several query heads share one key-value head."""

import torch
import torch.nn.functional as F
from torch import nn

QUERY_HEADS = 9
KEY_VALUE_HEADS = 3
TOKENS = 128
HEAD_SIZE = 64


class Model(nn.Module):
    def __init__(self, query_heads, key_value_heads):
        super().__init__()
        self.sharing = query_heads // key_value_heads

    def repeat(self, x):
        batch, heads, tokens, size = x.shape
        shared = x.unsqueeze(2).expand(batch, heads, self.sharing, tokens, size)
        return shared.reshape(batch, heads * self.sharing, tokens, size)

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, self.repeat(k), self.repeat(v), is_causal=True)


def get_inputs():
    return [
        torch.randn(1, QUERY_HEADS, TOKENS, HEAD_SIZE),
        torch.randn(1, KEY_VALUE_HEADS, TOKENS, HEAD_SIZE),
        torch.randn(1, KEY_VALUE_HEADS, TOKENS, HEAD_SIZE),
    ]


def get_init_inputs():
    return [QUERY_HEADS, KEY_VALUE_HEADS]
