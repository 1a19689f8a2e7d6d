"""The Pareto front of a task on a device: programs that no other beats in both latency and peak memory."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from edgelab.bench.metrics.instance import Instance


class ParetoPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One measured program; `on_front` when no other of its task and device dominates it."""

    simulated: bool
    device: str
    backend: str
    task: str
    method: str
    run: str
    latency_s: float
    peak_memory_bytes: int
    on_front: bool


def dominates(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Return whether `first` (latency, memory) is no worse than `second` in both and better in one."""
    return first[0] <= second[0] and first[1] <= second[1] and first != second


def pareto_points(instances: Iterable[Instance]) -> tuple[ParetoPoint, ...]:
    """Return every instance that counts with known latency and peak memory, fastest first in each group.

    A group is one task on one device and backend. Equal programs do not dominate each other.
    """
    groups: dict[tuple[bool, str, str, str], list[tuple[float, int, str, str]]] = {}
    for instance in instances:
        if instance.counts and instance.latency_s is not None and instance.peak_memory_bytes is not None:
            key = (instance.simulated, instance.device, instance.backend, instance.task)
            point = (instance.latency_s, instance.peak_memory_bytes, instance.run, instance.method)
            groups.setdefault(key, []).append(point)
    return tuple(point for key in sorted(groups) for point in _points(key, sorted(groups[key])))


def _points(
    key: tuple[bool, str, str, str], points: list[tuple[float, int, str, str]]
) -> Iterable[ParetoPoint]:
    simulated, device, backend, task = key
    for latency_s, memory, run, method in points:
        yield ParetoPoint(
            simulated=simulated,
            device=device,
            backend=backend,
            task=task,
            method=method,
            run=run,
            latency_s=latency_s,
            peak_memory_bytes=memory,
            on_front=not any(dominates(other[:2], (latency_s, memory)) for other in points),
        )
