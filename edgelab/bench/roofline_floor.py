"""The least time that a task can take on a device: nothing honest is faster, so whatever is has not done the work."""

from __future__ import annotations

import msgspec

from edgelab.drivers.profile import Peaks
from edgelab.errors import EvaluationFailure, FailureClass

SAFETY = 2.0
"""Peaks are divided by nothing and times by this: a profile's peak may be low, a clock may boost."""

WEIGHT_SHARE = 0.25
"""Weights count as a quarter of their bytes: a program may fold them or keep them in eight bits."""

FLOP_SHARE = 0.01
"""Floating-point operations count as a hundredth.

Winograd's and Strassen's algorithms save a factor of two to six, another order of multiplication (of three
matrices, or of a scale behind a reduction) saves tens. Nobody knows the least number of operations, so this
part finds only programs that skip nearly all of them.
"""

_MIB = 1 << 20


class LeastWork(msgspec.Struct, frozen=True):
    """What any program of a task has to do. Bytes are of what was seen to matter, so they are lower bounds.

    `input_bytes` and `weight_bytes` are of the elements on which the outputs' derivative depends,
    `output_bytes` of all outputs; `flops` counts what PyTorch's own matrix products and convolutions do.
    """

    input_bytes: int
    weight_bytes: int
    output_bytes: int
    flops: int


class Floor(msgspec.Struct, frozen=True):
    """The least latency in seconds, and the part that it comes from."""

    latency_s: float
    reason: str


def floor_of(work: LeastWork, peaks: Peaks | None) -> Floor | None:
    """Return the least latency of a task on a device; None where the device's peaks are not known.

        floor = max(bytes / bandwidth, flops * FLOP_SHARE / compute) / SAFETY
        bytes = max(0, input_bytes + output_bytes + weight_bytes * WEIGHT_SHARE - cache)

    (roofline: Williams, Waterman, Patterson 2009). Calls follow each other, and what fits into the caches
    may stay there: all of their capacity is taken off, and a working set that fits has no bound by bytes, nor
    has one on a device whose caches are not known. A floor of 0 s is one that everything keeps.
    """
    if peaks is None:
        return None
    bounds: list[Floor] = []
    if peaks.bandwidth_gb_s and peaks.cache_mib is not None:
        touched = work.input_bytes + work.output_bytes + work.weight_bytes * WEIGHT_SHARE
        moved = max(0.0, touched - peaks.cache_mib * _MIB)
        bandwidth = f"{peaks.bandwidth_gb_s:g} GB/s, the memory's peak"
        bounds.append(
            Floor(
                moved / (peaks.bandwidth_gb_s * 1e9) / SAFETY,
                f"at least {moved / _MIB:.3g} MiB have to move between memory and caches, at {bandwidth}",
            )
        )
    if peaks.compute_gflops:
        done = work.flops * FLOP_SHARE
        compute = f"{peaks.compute_gflops:g} GFLOP/s, the device's peak"
        bounds.append(
            Floor(
                done / (peaks.compute_gflops * 1e9) / SAFETY,
                f"even {FLOP_SHARE:.0%} of its {work.flops / 1e9:.3g} GFLOP have to be computed, at {compute}",
            )
        )
    return max(bounds, key=lambda bound: bound.latency_s, default=None)


def check_floor(task: str, latency_s: float, floor: Floor | None) -> None:
    """Raise `EvaluationFailure` (hack) for a latency below the floor; without a floor nothing is checked."""
    if floor is None or latency_s >= floor.latency_s:
        return
    raise EvaluationFailure(
        FailureClass.HACK,
        f"The candidate for {task} is faster than the device can be: {latency_s:.3g} s, where "
        f"{floor.latency_s:.3g} s is the least (roofline).",
        detail=f"{floor.reason[0].upper()}{floor.reason[1:]}; that, divided by {SAFETY:g}, is the floor.",
        advice="It does not do the work, or the peaks in the device's profile are too low.",
    )
