"""Pareto fronts: undominated and complete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.metrics.pareto import dominates, pareto_points
from tests.support.instances import a_failure, an_instance, instances


def group(point):
    return (point.simulated, point.device, point.backend, point.task)


def test_a_front_of_known_points():
    cases = {
        "fast": (1.0, 30),
        "small": (3.0, 10),
        "between": (2.0, 20),
        "worse": (2.5, 25),
        "same": (1.0, 30),
    }
    selection = [
        an_instance(run=run, latency_s=latency_s, peak_memory_bytes=memory)
        for run, (latency_s, memory) in cases.items()
    ]
    front = {point.run for point in pareto_points(selection) if point.on_front}
    assert front == {"fast", "small", "between", "same"}


def test_what_is_not_known_or_does_not_count_is_no_point():
    selection = [
        an_instance(peak_memory_bytes=None), an_instance(latency_s=None), an_instance(quality="paired"),
        a_failure(), an_instance(verdict="unstable", quality="none"),
    ]  # fmt: skip
    assert pareto_points(selection) == ()


def test_tasks_and_devices_have_fronts_of_their_own():
    slow = {"latency_s": 9.0, "peak_memory_bytes": 1 << 30}
    others = [
        an_instance("other", **slow), an_instance(device="phone", **slow), an_instance(simulated=True, **slow),
        an_instance(backend="llvm", **slow),
    ]  # fmt: skip
    assert all(point.on_front for point in pareto_points([an_instance(), *others]))


@given(st.lists(instances(), max_size=30))
def test_a_front_is_undominated_and_complete(selection):
    points = pareto_points(selection)
    for point in points:
        better = [
            other
            for other in points
            if group(other) == group(point)
            and dominates(
                (other.latency_s, other.peak_memory_bytes), (point.latency_s, point.peak_memory_bytes)
            )
        ]
        assert point.on_front == (not better)
        # Whoever is dominated is dominated by somebody on the front.
        assert point.on_front or any(other.on_front for other in better)
    known = [one for one in selection if one.counts and one.peak_memory_bytes is not None]
    assert len(points) == len(known)
