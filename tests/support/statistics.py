"""Pair statistics for tests: stable by default; every field can be overridden."""

from __future__ import annotations

from typing import Any

import msgspec

from edgelab.bench.timing import PairStatistics


def some_statistics(**changes: Any) -> PairStatistics:
    """Return strict statistics of 100 pairs of 1 ms."""
    base = PairStatistics(
        pairs=100,
        latency_candidate_s=1e-3,
        latency_baseline_s=1e-3,
        speedup=1.0,
        speedup_ci95=(0.999, 1.001),
        rcv_candidate=0.01,
        rcv_baseline=0.01,
        rcv_speedup=0.01,
    )
    return msgspec.structs.replace(base, **changes)
