"""Inputs take turns, and timed calls are checked at moments that only the worker knows."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgelab.worker.channel import Frame, Kind
from edgelab.worker.compare import Tolerance
from edgelab.worker.failures import WorkerFailure
from edgelab.worker.rotation import FEWEST_TURNS, Rotation, TimedInput
from edgelab.worker.timing import Plan, Series, time_pairs
from tests.worker.support import TOLERANCE, WorkerUnderTest

INPUTS = [np.full(4, number, dtype="float32") for number in range(3)]


def doubled(value: np.ndarray) -> np.ndarray:
    return value * 2


class ScriptedProgram:
    """Answers as a child would, without a process; `compute` is what its last timed call returns."""

    def __init__(self, pid: int, compute: Callable[[np.ndarray], np.ndarray] = doubled) -> None:
        self.pid, self.name, self.compute = pid, f"program {pid}", compute
        self.held: dict[str, np.ndarray] = {}
        self.given: list[float] = []
        self.in_place: list[bool] = []
        self.blocks: list[int] = []
        self.taken = 0
        self.output = np.zeros(4, dtype="float32")

    def upload(self, slot: str, arrays: list[np.ndarray], limit_s: float, *, in_place: bool = False) -> None:
        self.held[slot] = arrays[0]
        if slot == "timing":
            self.given.append(float(arrays[0][0]))
            self.in_place.append(in_place)

    def request(self, kind: Kind, limit_s: float, body: object = None, *, first: int = 0) -> Frame:
        now_ns = time.perf_counter_ns()
        if kind == Kind.BLOCK:
            self.blocks.append(first)
            self.output = self.compute(self.held["timing"])
        described: dict[str, Any] = {"structure": "tensor", "outputs": [[[4], "float32"]]}
        self.taken += kind == Kind.TAKE
        return Frame(kind, described, now_ns, now_ns + 1)

    def fetch(self, index: int, target: np.ndarray, limit_s: float) -> None:
        target[:] = self.output


def rotation(seed: int = 1) -> Rotation:
    timed = [TimedInput([value], [doubled(value)]) for value in INPUTS]
    return Rotation(("key",), timed, Tolerance(1e-5, 1e-6), random.Random(seed))


def timed(
    a: ScriptedProgram, b: ScriptedProgram, pairs: int = 40, seed: int = 1, **changes: int
) -> tuple[Series, Series]:
    turning = rotation(seed)
    for program in (a, b):
        turning.prepare(program, 1.0)  # pyright: ignore[reportArgumentType]
    plan = Plan(pairs=pairs, time_s=30.0, **{"calls_per_block": 3, "warm_calls": 1, "first": 0} | changes)
    return time_pairs(a, b, plan, lambda done: None, turning)  # pyright: ignore[reportArgumentType]


def test_every_input_has_its_turns_at_one_address_and_both_sides_get_the_same() -> None:
    a, b = ScriptedProgram(1), ScriptedProgram(2)
    timed(a, b)
    assert a.given[1:-3] == b.given[1:-3]
    assert set(a.given[1:-3]) == {0.0, 1.0, 2.0}
    assert len(a.given) > FEWEST_TURNS
    assert a.in_place == [False, *[True] * (len(a.given) - 1)]
    assert all(before != after for before, after in zip(a.given[1:-3], a.given[2:-3], strict=False))


def test_both_sides_are_checked_twice_and_their_series_are_whole() -> None:
    a, b = ScriptedProgram(1), ScriptedProgram(2)
    first, second = timed(a, b)
    assert (a.taken, b.taken) == (2, 2)
    assert len(first.latencies_s) == len(second.latencies_s) == 40
    assert len(first.unseen_s) == len(second.unseen_s) == 3


def test_checks_come_at_moments_that_differ() -> None:
    def phases(seed: int) -> list[int]:
        program = ScriptedProgram(1)
        timed(program, ScriptedProgram(2), seed=seed)
        return program.blocks

    assert len({tuple(phases(seed)) for seed in range(8)}) > 4


def test_a_wrong_timed_call_is_found() -> None:
    with pytest.raises(WorkerFailure, match="program 1 was right when it was verified but wrong") as caught:
        timed(ScriptedProgram(1, lambda value: value * 3 + 1), ScriptedProgram(2))
    assert (caught.value.failure_class, caught.value.program) == ("numeric", "program 1")


def test_a_replayed_result_is_found_and_called_so() -> None:
    with pytest.raises(WorkerFailure, match=r"program 2 returned .* it replays results") as caught:
        timed(ScriptedProgram(1), ScriptedProgram(2, lambda value: doubled(INPUTS[1])), seed=5)
    assert caught.value.failure_class == "hack"


def test_a_series_that_ends_early_is_checked_all_the_same() -> None:
    a, b = ScriptedProgram(1), ScriptedProgram(2)
    turning = rotation()
    for program in (a, b):
        turning.prepare(program, 1.0)  # pyright: ignore[reportArgumentType]
    plan = Plan(pairs=1000, calls_per_block=1, warm_calls=0, first=0, time_s=0.0)
    time_pairs(a, b, plan, lambda done: None, turning)  # pyright: ignore[reportArgumentType]
    assert (a.taken, b.taken) == (1, 1)


def _prepared(worker: WorkerUnderTest, inputs: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for name in ("candidate", "baseline"):
        fields = {
            "inputs": [worker.arrays("in", value) for value in inputs],
            "expected": [worker.arrays("out", value) for value in wanted],
            "tolerance": TOLERANCE,
        }
        assert worker.op("prepare_timing", program=name, **fields)["event"] == "done"


def test_real_programs_are_timed_on_inputs_in_turn(shared_worker: WorkerUnderTest, artefacts: Path) -> None:
    values = [np.random.default_rng(seed).standard_normal(1024).astype("float32") for seed in range(3)]
    for name in ("candidate", "baseline"):
        shared_worker.load(artefacts / "lazy_after_100.so", name)
    _prepared(shared_worker, values, values)
    plan = {"pairs": 8, "calls_per_block": 1, "warm_calls": 1, "first": 0, "time_s": 20}
    done = shared_worker.op("pair", a="candidate", b="baseline", **plan)
    assert (done["event"], len(done["a_s"]), len(done["unseen_s"])) == ("done", 8, 3)
    late = {**plan, "pairs": 40, "calls_per_block": 20}
    failed = shared_worker.op("pair", a="candidate", b="baseline", **late)
    # Its output stays as the last call that worked has left it.
    assert (failed["event"], failed["class"]) == ("error", "hack")
    assert "it replays results" in failed["message"]


@pytest.mark.parametrize(
    "fields", [{"expected": []}, {"expected": ["x"] * 3}, {"expected": 7}, {"expected": [7]}]
)
def test_a_malformed_request_is_refused(
    shared_worker: WorkerUnderTest, artefacts: Path, fields: dict[str, object]
) -> None:
    shared_worker.load(artefacts / "lazy_after_100.so")
    asked = {"inputs": ["x"], "tolerance": TOLERANCE, **fields}
    assert shared_worker.op("prepare_timing", program="candidate", **asked)["class"] == "infrastructure"
