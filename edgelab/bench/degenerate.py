"""Refusal of degenerate tasks: those that a candidate which does not do the work could pass.

A task is degenerate when a stored constant, zeros, or a program that leaves out an input or a weight passes
verification under the task's own tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import msgspec
import numpy as np

from edgelab.bench.tolerance import mismatched
from edgelab.drivers.worker_messages import Tolerance

Kind = Literal[
    "nan", "near_zero", "zeros_pass", "constant", "ignores_inputs", "ignores_input", "ignores_weight"
]

SMALLEST_RMS = 1e-4
"""Float outputs below this root mean square are near zero: absolute tolerances elsewhere would swallow them."""

NON_ZERO_SHARE = 0.1
"""Share of an output's elements that must differ from zero; a ReLU leaves about half."""

CHANGED_SHARE = 0.01
"""Share of some output's elements that must change with an input or a weight."""


class Finding(msgspec.Struct, frozen=True):
    """One reason to refuse a task. `subject` names the output, the input or the weight."""

    kind: Kind
    subject: str
    message: str


class Probe(Protocol):
    """A task's model that can be run with one thing changed. All runs give the same outputs when repeated."""

    @property
    def input_count(self) -> int:
        """Number of inputs."""
        ...

    @property
    def weights(self) -> Sequence[str]:
        """Names of the parameters and buffers that the model holds."""
        ...

    def run(self, seed: int, *, redrawn: int | None = None, disturbed: str | None = None) -> list[np.ndarray]:
        """Return the outputs for the inputs of `seed`.

        `redrawn` is the index of an input that is drawn from another seed, `disturbed` the name of a weight
        whose elements trade places.
        """
        ...


def find_degeneracies(probe: Probe, tolerance: Tolerance, seeds: Sequence[int]) -> list[Finding]:
    """Return every reason to refuse the task, an empty list for a sound one. Needs two seeds or more."""
    if len(seeds) < 2:
        raise ValueError("at least two seeds are needed to see whether outputs depend on the inputs")
    expected = [probe.run(seed) for seed in seeds]
    findings = []
    for index, over_seeds in enumerate(zip(*expected, strict=True)):
        findings += _judge_output(f"out{index}", over_seeds, tolerance)
    if not _changed_enough(expected[0], expected[1:], tolerance):
        findings.append(
            Finding("ignores_inputs", "all", "the outputs of different seeds match: a stored answer passes")
        )
    findings += _judge_dependence(probe, expected[0], seeds[0], tolerance)
    return findings


def _judge_output(name: str, over_seeds: Sequence[np.ndarray], tolerance: Tolerance) -> Iterator[Finding]:
    values = np.stack(over_seeds)
    is_float = np.issubdtype(values.dtype, np.floating)
    if is_float and np.isnan(values).any():
        yield Finding("nan", name, f"{int(np.isnan(values).sum())} of {values.size} elements are NaN")
        return
    finite = values[np.isfinite(values)]
    rms = float(np.sqrt(np.mean(finite.astype(np.float64) ** 2))) if finite.size else 0.0
    if is_float and rms < SMALLEST_RMS:
        yield Finding("near_zero", name, f"root mean square {rms:.3g} is below {SMALLEST_RMS:g}")
    zeros_fail = float(mismatched(np.zeros_like(values), values, tolerance).mean())
    if zeros_fail < NON_ZERO_SHARE:
        yield Finding("zeros_pass", name, f"zeros match {1 - zeros_fail:.1%} of the elements")
    middle = np.full_like(values, np.sort(values, axis=None)[values.size // 2])
    if not mismatched(middle, values, tolerance).any():
        yield Finding("constant", name, f"every element matches {middle.flat[0]}")


def _judge_dependence(
    probe: Probe, expected: Sequence[np.ndarray], seed: int, tolerance: Tolerance
) -> Iterator[Finding]:
    for index in range(probe.input_count):
        if not _changed_enough(expected, [probe.run(seed, redrawn=index)], tolerance):
            yield Finding("ignores_input", f"in{index}", "the outputs stay the same when it is drawn again")
    for weight in probe.weights:
        if not _changed_enough(expected, [probe.run(seed, disturbed=weight)], tolerance):
            yield Finding(
                "ignores_weight", weight, "the outputs stay the same when its elements trade places"
            )


def _changed_enough(
    expected: Sequence[np.ndarray], others: Sequence[Sequence[np.ndarray]], tolerance: Tolerance
) -> bool:
    """Whether one output, in one of the other runs, differs in a sufficient share of its elements."""
    return any(
        float(mismatched(got, want, tolerance).mean()) >= CHANGED_SHARE
        for other in others
        for got, want in zip(other, expected, strict=True)
    )
