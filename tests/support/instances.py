"""Instances of the benchmark for tests: single ones, and a hypothesis strategy over all that can occur."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from edgelab.bench.metrics.instance import Instance

SPEEDUPS = st.floats(0.05, 50.0)


def an_instance(task: str = "softmax", **changes: Any) -> Instance:
    """Return a strict measurement on `orin` with a speed-up of 1.5."""
    instance = Instance(
        task=task, level=1, domain="E", backend="cuda", device="orin", simulated=False, method="candidate",
        baseline_kind="plain", verdict="ok", compiled=True, correct=True, speedup=1.5, ci95=(1.49, 1.51),
        latency_s=1.0e-4, baseline_latency_s=1.5e-4, peak_memory_bytes=1 << 20, planned_memory_bytes=1 << 19,
        quality="strict", run=f"run-{task}", when_s=1000.0,
    )  # fmt: skip
    return msgspec.structs.replace(instance, **changes)


def a_failure(task: str = "softmax", failure_class: str = "numeric", **changes: Any) -> Instance:
    """Return an instance that compiled and failed."""
    failed: dict[str, Any] = {
        "verdict": "failed", "correct": False, "failure_class": failure_class, "message": "it failed",
        "speedup": None, "ci95": None, "latency_s": None, "quality": "none",
    }  # fmt: skip
    return an_instance(task, **(failed | changes))


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Draw an instance of any verdict, as `instance_of` and the report make them."""
    place: dict[str, Any] = {
        "task": draw(st.sampled_from(["a", "b", "c"])),
        "level": draw(st.integers(0, 3)),
        "backend": draw(st.sampled_from(["llvm", "cuda"])),
        "device": draw(st.sampled_from(["d1", "d2"])),
        "simulated": draw(st.booleans()),
        "method": draw(st.sampled_from(["import", "candidate"])),
    }
    verdict = draw(st.sampled_from(["ok", "unstable", "failed", "missing", "not_judged"]))
    if verdict in ("ok", "unstable"):
        quality = draw(st.sampled_from(["strict", "paired"])) if verdict == "ok" else "none"
        memory = draw(st.none() | st.integers(0, 4))
        latency_s = draw(st.sampled_from([1e-4, 2e-4, 3e-4, 4e-4]))
        return an_instance(
            verdict=verdict, speedup=draw(SPEEDUPS), quality=quality, peak_memory_bytes=memory,
            latency_s=latency_s, **place,
        )  # fmt: skip
    if verdict == "failed":
        kind = draw(st.sampled_from(["syntax_api", "numeric", "hack", "of another version"]))
        return a_failure(failure_class=kind, compiled=draw(st.booleans()), **place)
    return a_failure(verdict=verdict, failure_class="", compiled=False, **place)
