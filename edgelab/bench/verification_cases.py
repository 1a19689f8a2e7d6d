"""What a program is asked when it is verified: inputs, what has to come out, how exactly, and what to call them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from edgelab.bench.hidden_cases import FEWEST_CASES
from edgelab.bench.reference import ANNOUNCED_SEEDS, ReferenceBundle
from edgelab.bench.structural_inputs import Structure
from edgelab.drivers.worker_messages import Tolerance, Verification
from edgelab.errors import EvaluationFailure, FailureClass


class VerificationCase(msgspec.Struct, frozen=True, kw_only=True):
    """One set of inputs. `name` is for messages; `seed` is None for one that nobody may know.

    A `structure` says how inputs of another structure were made. In a `fresh` child nothing of an earlier
    call exists.
    """

    name: str
    seed: int | None = None
    structure: Structure | None = None
    inputs: Path
    expected: Path
    tolerance: Tolerance
    fresh: bool = True


def seed_case(bundle: ReferenceBundle, seed: int) -> VerificationCase:
    """Return the case of the inputs that the task draws under `seed`."""
    # A secret seed in an event or a message would be known to the next candidate's author.
    announced = seed if seed in ANNOUNCED_SEEDS else None
    return VerificationCase(
        name=f"seed {seed}" if announced is not None else "the secret inputs",
        seed=announced,
        inputs=bundle.inputs_path(seed),
        expected=bundle.expected_path(seed),
        tolerance=bundle.meta.tolerance,
    )


def hidden_cases(bundle: ReferenceBundle, seed: int) -> Iterator[VerificationCase]:
    """Yield the hidden cases under a secret seed. Raises KeyError if the bundle was prepared without them."""
    found = bundle.hidden(seed)
    if found is None:
        raise KeyError("the hidden cases were not prepared")
    for case in found.cases:
        inputs, expected = bundle.hidden_paths(seed, case.structure)
        yield VerificationCase(
            name=f"hidden inputs ({case.structure.replace('_', ' ')})",
            structure=case.structure,
            inputs=inputs,
            expected=expected,
            tolerance=case.tolerance,
            # What reads memory that nothing wrote shows with the announced seeds; here the inputs matter.
            fresh=False,
        )


def check_enough(task: str, usable: int, missed: list[str]) -> None:
    """Raise `EvaluationFailure` (infrastructure) when too few hidden cases can judge a program.

    `missed` names those in which the plain lowering itself is off. A task that never had enough is for the
    tests of the suite; here it is told that its tolerance or its compiler does not fit.
    """
    if missed and usable < FEWEST_CASES:
        raise EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"The plain lowering of {task} misses PyTorch's results for {', '.join(missed)}; "
            f"{usable} hidden cases are left, {FEWEST_CASES} are needed.",
            advice="TVM miscompiles this task or its tolerance is too tight; it cannot be judged.",
        )


def wrong(task: str, case: VerificationCase, found: Verification) -> EvaluationFailure:
    """Return the failure of a candidate whose outputs differ in `case`."""
    known = "; it is right for the announced inputs" if case.structure else ""
    return EvaluationFailure(
        FailureClass.NUMERIC,
        f"Wrong result of {task} for {case.name}{known}: {found.message}",
        detail=difference(found),
    )


def difference(found: Verification) -> str:
    """Return what is known of a difference, in lines."""
    lines: list[str] = []
    if found.index is not None:
        lines.append(
            f"first difference: output {found.output_index} at {list(found.index)}: "
            f"got {found.got}, expected {found.expected}"
        )
    if found.worst is not None:
        worst = found.worst
        lines.append(
            f"worst element: {list(worst.index)}: got {worst.got}, expected {worst.expected}, "
            f"off by {worst.abs_error}, tolerated {worst.tolerated:.6g}"
        )
    if found.total:
        lines.append(f"{found.mismatched} of {found.total} elements differ")
    return "\n".join(lines)
