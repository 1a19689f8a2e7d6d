"""Small task files for tests, and whether a process they started still runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil

from edgelab.bench.tasks import Catalogue, TaskSpec, resolve

SOUND = """import torch
from torch import nn

FEATURES = 8


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(4, FEATURES)]


def get_init_inputs():
    return [FEATURES]
"""
"""A plain KernelBench-style file."""


def write_task(folder: Path, text: str, name: str = "toy") -> TaskSpec:
    """Write a plain task file and return its task."""
    path = folder / f"{name}.py"
    path.write_text(text)
    return resolve(str(path), Catalogue(()))


def runs(pid: int) -> bool:
    """Whether a process is there and not only waits to be reaped by whoever adopted it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], bool], *, limit_s: float = 60) -> None:
    """Wait for something outside of this process. Raises TimeoutError."""
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - there is nothing to be woken by
            await asyncio.sleep(0.02)
