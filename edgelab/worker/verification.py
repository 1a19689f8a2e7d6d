"""One verification: the child runs, the worker compares. Expected outputs never reach the child.

A program runs twice. In a fresh child with poisoned memory nothing of an earlier call exists that it could
lean on, neither in the runtime's workspaces (thread-local, and nothing empties them) nor in its own data. In
the child that is also timed the call finds what earlier and timed calls left, and is no different from them: a
program that works only on its first calls is wrong there.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import Any

import numpy as np

from .channel import Kind
from .compare import Comparison, Tolerance, compare
from .failures import HACK, NUMERIC, WorkerFailure
from .program import Program

_RELEASE_LIMIT_S = 10.0


def verify(
    program: Program,
    inputs: list[np.ndarray],
    expected: list[np.ndarray],
    tolerance: Tolerance,
    time_s: float,
    *,
    fresh: bool = True,
) -> dict[str, Any]:
    """Run the program on `inputs`, in a fresh child and in its own, and compare its outputs with `expected`.

    Without `fresh` only in its own.

    Returns the fields of the reply. Raises WorkerFailure if the program fails, dies or takes longer than
    `time_s` in either, also if damage to its heap shows when the fresh child frees its memory and ends.
    """
    if not fresh:
        return run_and_compare(program, inputs, expected, tolerance, time_s, poisoned=False)
    with contextlib.closing(program.fresh()) as other:
        first = run_and_compare(other, inputs, expected, tolerance, time_s, poisoned=True)
        # Taking its memory apart takes the child as long as a call; the other one can work meanwhile.
        other.ask_to_end(_RELEASE_LIMIT_S)
        reply = first
        if first["ok"]:
            reply = run_and_compare(program, inputs, expected, tolerance, time_s, poisoned=False)
        if reply["ok"]:
            refuse_old_results(program, expected, tolerance, time_s)
        other.finish_clean(_RELEASE_LIMIT_S)
    if first["ok"] and not reply["ok"]:
        reply["message"] = f"right in a fresh process but not after earlier calls: {reply['message']}"
    return reply


def run_and_compare(
    program: Program,
    inputs: list[np.ndarray],
    expected: list[np.ndarray],
    tolerance: Tolerance,
    time_s: float,
    *,
    poisoned: bool,
) -> dict[str, Any]:
    """One call in one child, with or without poisoned memory; as `verify` otherwise."""
    deadline_s = time.monotonic() + time_s
    program.upload("verify", inputs, time_s)
    # Tensors are copied with the same limit, which is not the program's time.
    described = program.request(Kind.CALL, time_s, {"poisoned": poisoned}).body
    limit_s = max(time_s, deadline_s - time.monotonic())
    reply = compare_described(program, described, expected, tolerance, limit_s)
    program.request(Kind.DROP, _RELEASE_LIMIT_S)
    return reply


def refuse_old_results(
    program: Program, expected: list[np.ndarray], tolerance: Tolerance, time_s: float
) -> None:
    """Call again on the inputs of the last verification, with one element of the old outputs changed.

    The runtime hands out the memory of earlier results. A program may have recognised one by some of its
    elements and have left the rest as it was; nobody but this process knows which element was changed.
    Raises WorkerFailure when the outputs are wrong now: `hack` if by what was changed, else `numeric`.
    """
    # Results are kept for one call longer, so that two pieces of memory take turns.
    chosen = [secrets.randbits(62) for _ in range(2)]
    for number in chosen:
        program.request(Kind.CALL, time_s, {"poisoned": False})
        program.request(Kind.SPOIL, time_s, first=number)
    described = program.request(Kind.CALL, time_s, {"poisoned": False}).body
    reply = compare_described(program, described, expected, tolerance, time_s)
    if not reply["ok"]:
        raise _not_repeated(program.name, reply, expected, chosen)
    program.request(Kind.DROP, _RELEASE_LIMIT_S)


def _not_repeated(
    name: str, reply: dict[str, Any], expected: list[np.ndarray], chosen: list[int]
) -> WorkerFailure:
    index = reply["index"]
    if index is not None:
        wanted = expected[reply["output_index"]]
        changed = [list(np.unravel_index(number % wanted.size, wanted.shape)) for number in chosen]
        if index in changed and reply["mismatched"] <= 2 * len(expected):
            message = (
                f"{name} returns what it finds in its output's memory: an element of an old result "
                "that was changed there came back"
            )
            return WorkerFailure(HACK, message, detail=reply["message"], program=name)
    message = (
        f"{name} gives another result when it is called again, so it depends on what lay in its memory: "
        f"{reply['message']}"
    )
    return WorkerFailure(NUMERIC, message, program=name)


def compare_described(
    program: Program,
    described: dict[str, Any],
    expected: list[np.ndarray],
    tolerance: Tolerance,
    limit_s: float,
) -> dict[str, Any]:
    """Compare the outputs that a child described and keeps; it goes on keeping them. As `verify` otherwise."""
    reply = _structure_reply(program, described, expected)
    return reply if reply is not None else _compare_outputs(program, expected, tolerance, limit_s)


def _structure_reply(
    program: Program, described: dict[str, Any], expected: list[np.ndarray]
) -> dict[str, Any] | None:
    """A reply that tells the first difference in number, dtype or shape; None if there is none."""
    try:
        structure = str(described["structure"])[:200]
        outputs = [([int(size) for size in shape], str(dtype)[:50]) for shape, dtype in described["outputs"]]
    except (KeyError, TypeError, ValueError) as error:
        program.kill()
        raise WorkerFailure(
            HACK, f"{program.name} described its outputs wrongly", detail=repr(error), program=program.name
        ) from error
    if structure not in ("tensor", "tuple"):
        return _mismatch(f"main returned a {structure}, expected {len(expected)} tensors")
    if len(outputs) != len(expected):
        return _mismatch(f"main returned {len(outputs)} tensors, expected {len(expected)}")
    for index, ((shape, dtype), wanted) in enumerate(zip(outputs, expected, strict=True)):
        if dtype != wanted.dtype.name:
            return _mismatch(f"output {index} has dtype {dtype}, expected {wanted.dtype.name}", index)
        if shape != list(wanted.shape):
            return _mismatch(f"output {index} has shape {shape}, expected {list(wanted.shape)}", index)
    return None


def _mismatch(message: str, index: int | None = None) -> dict[str, Any]:
    return {"ok": False, "structure_ok": False, "message": message, "output_index": index, **_no_elements()}


def _no_elements() -> dict[str, Any]:
    return {
        "index": None,
        "got": None,
        "expected": None,
        "worst": None,
        "max_abs_error": None,
        "mismatched": 0,
        "total": 0,
    }


def _compare_outputs(
    program: Program, expected: list[np.ndarray], tolerance: Tolerance, limit_s: float
) -> dict[str, Any]:
    """Compare all outputs; the reply tells about the first that mismatches, else about the worst."""
    results: list[Comparison] = []
    for index, wanted in enumerate(expected):
        got = np.empty(wanted.shape, dtype=wanted.dtype)
        program.fetch(index, got, limit_s)
        results.append(compare(got, wanted, tolerance))
    chosen = next((index for index, result in enumerate(results) if not result.ok), None)
    if chosen is None:
        chosen = max(range(len(results)), key=lambda i: results[i].max_abs_error or 0.0, default=0)
    shown = results[chosen] if results else Comparison(0, 0, None, None, None)
    return {
        "ok": all(result.ok for result in results),
        "structure_ok": True,
        "message": _describe(chosen, shown),
        "output_index": chosen,
        "index": None if shown.first is None else list(shown.first[0]),
        "got": None if shown.first is None else shown.first[1],
        "expected": None if shown.first is None else shown.first[2],
        "worst": None if shown.worst is None else vars(shown.worst) | {"index": list(shown.worst.index)},
        "max_abs_error": shown.max_abs_error,
        "mismatched": sum(result.mismatched for result in results),
        "total": sum(result.total for result in results),
    }


def _describe(index: int, result: Comparison) -> str:
    if result.first is None:
        return ""
    position, got, expected = result.first
    return (
        f"output {index} differs in {result.mismatched} of {result.total} elements, "
        f"first at {list(position)}: got {_shown(got)}, expected {_shown(expected)}"
    )


def _shown(value: object) -> str:
    """Nine significant digits tell any two float32 apart; more would be noise."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)
