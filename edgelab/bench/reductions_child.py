"""The longest reduction of a PyTorch model, seen while it runs. Only child processes import this."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_LOOK_UPS = frozenset({"embedding", "index", "index_select", "gather", "topk", "sort"})
"""Operators with outputs smaller than their inputs that add nothing up."""


class ReductionMeter(TorchDispatchMode):
    """Context in which the longest reduction of one operator, in terms, is kept in `longest`."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.longest = max(self.longest, _length(func, args, result))
        return result


def _length(func: Any, args: tuple[Any, ...], result: Any) -> int:
    name = func.overloadpacket.__name__
    shapes = [tuple(arg.shape) for arg in args if isinstance(arg, torch.Tensor)]
    if not shapes:
        return 1
    if "convolution" in name or name.startswith("mkldnn_conv"):
        return math.prod(shapes[1][1:])
    if name in ("mm", "bmm", "mv", "dot", "matmul", "linear"):
        return shapes[0][-1]
    if name in ("addmm", "baddbmm", "addmv"):
        return shapes[1][-1]
    if "scaled_dot_product" in name:
        return max(shapes[0][-1], shapes[1][-2])
    if name in ("_softmax", "_log_softmax", "cumsum", "cumprod"):
        return shapes[0][args[1]] if shapes[0] else 1
    if name == "native_layer_norm":
        return math.prod(args[1])
    if name == "native_group_norm":
        return math.prod(shapes[0]) // (shapes[0][0] * args[6])
    return _shrinkage(func, name, args, result)


def _shrinkage(func: Any, name: str, args: tuple[Any, ...], result: Any) -> int:
    """Elements that go into one element of the output; 1 for views and look-ups, which only leave some out."""
    is_view = any(returned.alias_info is not None for returned in func._schema.returns)
    if is_view or name in _LOOK_UPS or not isinstance(args[0], torch.Tensor):
        return 1
    first = result[0] if isinstance(result, list | tuple) else result
    if not isinstance(first, torch.Tensor) or first.numel() == 0:
        return 1
    return max(1, args[0].numel() // first.numel())
