"""The inputs that are timed, in turn, and checks of timed calls that no program can expect.

A program that is timed on one input again and again could return what it computed before. So several inputs
take turns, written over each other at the same addresses, and after blocks that only this process knows the
outputs of the last timed call are compared with what PyTorch made of the inputs that lay there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .channel import Kind
from .compare import Tolerance
from .failures import HACK, NUMERIC, WorkerFailure
from .program import Program
from .verification import compare_described

FEWEST_TURNS = 3
"""Turns in one series, even where writing the inputs takes longer than the calls."""

UPLOAD_SHARE = 0.25
"""Beyond the fewest turns, writing inputs may take this share of the time."""

SHORT_CALL_S = 0.005
"""Calls shorter than this are timed on unseen inputs `UNSEEN_CALLS` times in a series, others once."""

UNSEEN_CALLS = 3

_NONE_OF_THEM = -1

_MANY_PAIRS = 20
_FEW_PAIRS = 4
_FETCH_LIMIT_S = 60.0


@dataclass(frozen=True)
class TimedInput:
    """One of the inputs, and what a right program makes of it."""

    arrays: list[np.ndarray]
    expected: list[np.ndarray]


@dataclass
class Rotation:
    """Inputs that take turns in children. `chance` is the system's, so that nothing foretells it.

    `key` is equal for equal inputs, expected outputs and tolerance.
    """

    key: tuple[str | float, ...]
    inputs: Sequence[TimedInput]
    tolerance: Tolerance
    chance: random.Random = field(default_factory=random.SystemRandom)
    _held: dict[int, int] = field(default_factory=dict)
    _probed: set[int] = field(default_factory=set)

    def prepare(self, program: Program, limit_s: float) -> None:
        """Copy one of the inputs into a child that has none."""
        program.upload("timing", self.inputs[0].arrays, limit_s)
        self._held[program.pid] = 0
        self._probed.discard(program.pid)

    def series(self, pairs: int) -> SeriesTurns:
        """Return the turns of a series of up to `pairs` pairs."""
        return SeriesTurns(self, pairs)

    def give(self, program: Program, number: int, limit_s: float) -> None:
        """Let the child hold input `number`, in the place of the one it holds."""
        if self._held[program.pid] != number:
            program.upload("timing", self.inputs[number].arrays, limit_s, in_place=True)
            self._held[program.pid] = number

    def check(self, program: Program) -> None:
        """Compare the outputs of the child's last timed call.

        Raises WorkerFailure: `hack` when they are those of other inputs, `numeric` when they are otherwise wrong.
        """
        described = program.request(Kind.TAKE, _FETCH_LIMIT_S).body
        given = self._held[program.pid]
        reply = self._compare(program, described, given)
        if not reply["ok"]:
            others = [number for number in range(len(self.inputs)) if number != given]
            if any(self._compare(program, described, number)["ok"] for number in others):
                raise WorkerFailure(
                    HACK,
                    f"{program.name} returned in a timed call what belongs to inputs of an earlier one: "
                    "it replays results",
                    detail=reply["message"],
                    program=program.name,
                )
            raise WorkerFailure(
                NUMERIC,
                f"{program.name} was right when it was verified but wrong in a timed call: {reply['message']}",
                program=program.name,
            )
        program.request(Kind.DROP, _FETCH_LIMIT_S)

    def time_unseen(self, program: Program) -> float:
        """Seconds of one call on inputs that the child has never held, right after a call on others of that kind.

        What the program makes of them is not looked at: nobody has computed it.
        """
        in_place = program.pid in self._probed
        program.upload("verify", self._moved(), _FETCH_LIMIT_S, in_place=in_place)
        self._probed.add(program.pid)
        program.upload("timing", self._moved(), _FETCH_LIMIT_S, in_place=True)
        self._held[program.pid] = _NONE_OF_THEM
        program.request(Kind.CALL, _FETCH_LIMIT_S, {"poisoned": False})
        program.request(Kind.DROP, _FETCH_LIMIT_S)
        frame = program.request(Kind.BLOCK, _FETCH_LIMIT_S, first=1)
        return (frame.second - frame.first) / 1e9

    def _moved(self) -> list[np.ndarray]:
        """One of the inputs with all elements moved on by some places, so that each value is one that occurs."""
        arrays = self.chance.choice(self.inputs).arrays
        return [
            np.roll(array.reshape(-1), self.chance.randrange(array.size)).reshape(array.shape)
            for array in arrays
        ]

    def _compare(self, program: Program, described: dict[str, Any], number: int) -> dict[str, Any]:
        return compare_described(
            program, described, self.inputs[number].expected, self.tolerance, _FETCH_LIMIT_S
        )


class SeriesTurns:
    """Which input each pair of one series gets, and which pairs are checked."""

    def __init__(self, rotation: Rotation, pairs: int) -> None:
        self._rotation = rotation
        self._chance = rotation.chance
        checks = 0 if pairs < _FEW_PAIRS else 1 if pairs < _MANY_PAIRS else 2
        self._checked = set(self._chance.sample(range(pairs), checks))
        self._stride = max(1, pairs // FEWEST_TURNS)
        self._number = self._chance.randrange(len(rotation.inputs))
        self._begun_s = time.monotonic()
        self._writing_s = 0.0
        self.due = checks > 0
        """Whether the series has still to be checked."""

    def is_checked(self, pair: int) -> bool:
        """Whether the outputs of this pair are compared."""
        return pair in self._checked

    def turn(self, pair: int) -> None:
        """Choose the input of a pair; another one than before, unless writing takes too much of the time."""
        elapsed_s = time.monotonic() - self._begun_s
        if pair % self._stride == 0 or self._writing_s <= UPLOAD_SHARE * elapsed_s:
            count = len(self._rotation.inputs)
            self._number = (self._number + self._chance.randrange(1, max(2, count))) % count

    def give(self, program: Program, limit_s: float) -> None:
        """Write the pair's input into a child that is to be timed."""
        begun_s = time.monotonic()
        self._rotation.give(program, self._number, limit_s)
        self._writing_s += time.monotonic() - begun_s

    def extra_calls(self, pair: int, calls: int) -> int:
        """Untimed calls before a checked block of `calls`, so that no count of calls tells where it ends."""
        return self._chance.randrange(calls) if self.is_checked(pair) else 0

    def check(self, programs: Sequence[Program]) -> None:
        """Compare the outputs of the last timed call of each program. Raises WorkerFailure."""
        for program in programs:
            self._rotation.check(program)
        self.due = False

    def time_unseen(self, programs: Sequence[Program], latency_s: float) -> list[list[float]]:
        """Seconds of calls on unseen inputs, one of each program at a time; none in a short series."""
        if not self._checked:
            return []
        rounds = UNSEEN_CALLS if latency_s < SHORT_CALL_S else 1
        return [[self._rotation.time_unseen(program) for program in programs] for _ in range(rounds)]
