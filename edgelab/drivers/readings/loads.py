"""Loads of GPU and NPU, as the kernels of different makers write them."""

from __future__ import annotations

import re

import msgspec

from edgelab.drivers.readings.node_lines import whole

_RATED = re.compile(r"([0-9]{1,3})@([0-9]{1,15})Hz")
_CORE = re.compile(r"(?:Core[0-9]{1,2}|NPU load): *([0-9]{1,3})%")


class RatedLoad(msgspec.Struct, frozen=True):
    """A load in per cent at a clock in Hz."""

    load: int | None = None
    hz: int | None = None


def read_rated_load(text: str) -> RatedLoad:
    """Read Rockchip's `63@900000000Hz`."""
    found = _RATED.fullmatch(text.strip())
    return RatedLoad(int(found[1]), int(found[2])) if found else RatedLoad()


def read_permille_load(text: str) -> float | None:
    """Read a Jetson's GPU load, which is in thousandths; returns per cent."""
    load = whole(text)
    return load / 10 if load is not None and 0 <= load <= 1000 else None


def read_npu_load(text: str) -> tuple[int, ...]:
    """Read Rockchip's NPU load: per cent by core, one where the NPU has one core; empty when not known."""
    return tuple(int(load) for load in _CORE.findall(text))
