"""The kinds of simulated boards."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable

import msgspec

from edgelab.drivers.simulated.board_model import BoardModel
from edgelab.drivers.simulated.orin import orin
from edgelab.drivers.simulated.phone import phone
from edgelab.drivers.simulated.rk3588 import rk3588

MODELS: dict[str, Callable[[], BoardModel]] = {
    "jetson-agx-orin-64gb": orin,
    "rk3588": rk3588,
    "snapdragon-8-gen-3": phone,
}
"""The kinds of boards by the profile that fits them."""


@functools.cache
def model_of(profile: str) -> BoardModel:
    """Return the kind of board for a profile."""
    return MODELS[profile]()


@functools.cache
def version_of(profile: str) -> str:
    """Return what tells a tree of this kind from one that another version of EdgeLab made."""
    return hashlib.sha256(msgspec.json.encode(model_of(profile))).hexdigest()[:16]
