"""Cheats that are refused before anything of them runs: by the guard of the text, or by the build."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import guard
from tests.hacks import cheats
from tests.hacks.evaluations import Evaluations
from tests.support import candidates

TEXTS = {
    "class 10, chance": (
        'T.call_pure_extern("int32", "rand")',
        "'rand' is not on the list of pure functions",
    ),
    "class 11, a forged result on stdout": ('T.call_extern("int32", "puts", x.data)', "T.call_extern is not"),
    "class 11, a forged answer": (
        'T.call_pure_extern("int64", "write", 3, x.data, 8)',
        "'write' is not on the list",
    ),
    "class 12, an early end": ('T.call_pure_extern("int32", "_exit", 0)', "'_exit' is not on the list"),
    "class 13, the clock": ('T.call_pure_extern("int32", "clock_gettime", 1)', "'clock_gettime' is not"),
    "class 13, the processor's clock": (
        'T.call_llvm_intrin("int64", "llvm.readcyclecounter")',
        "'llvm.readcyclecounter' is not",
    ),
    "class 14, frames": ("T.evaluate.__globals__", "__globals__ is not in the program language"),
    "class 16, threads": ('T.call_pure_extern("int32", "pthread_create", 0)', "'pthread_create' is not"),
    "class 23, the environment": ('T.call_pure_extern("int32", "getenv", 0)', "'getenv' is not on the list"),
    "class 24, files": ('open("meta.json", "w")', r"open\(\) is not in the program language"),
    "class 25, a library": ('T.call_packed("tvm.contrib.cblas.matmul", x, w, y)', "T.call_packed is not"),
    "class 27, another process' memory": (
        'T.call_pure_extern("int32", "open", 0)',
        "'open' is not on the list",
    ),
    "class 33, addresses": ("T.address_of(x[0, 0])", "T.address_of is not in the program language"),
    "class 33, a number as address": (
        'T.reinterpret("handle", T.int64(4096))',
        "numbers and addresses are not converted",
    ),
    "class 33, a copy from an address": (
        'T.call_llvm_intrin("void", "llvm.memcpy.p0.p0.i64", x.data, y.data, 8)',
        "'llvm.memcpy.p0.p0.i64' is not",
    ),
}


@pytest.mark.parametrize(("call", "reason"), TEXTS.values(), ids=TEXTS.keys())
def test_the_guard_refuses(call: str, reason: str) -> None:
    with pytest.raises(guard.GuardRefusal, match=reason) as caught:
        guard.check(cheats.with_call(call))
    assert caught.value.failure_class is FailureClass.HACK


def test_no_python_of_a_candidate_runs(evaluations: Evaluations, tmp_path: Path) -> None:
    """Classes 13, 14, 17, 23, 28: all of them need Python of the candidate's own."""
    mark = tmp_path / "ran"
    failure = evaluations.failure(candidates.TINY, candidates.runs_python(f"touch {mark}"))
    assert failure.failure_class is FailureClass.HACK
    assert "__import__ is not in the program language" in failure.message
    assert not mark.exists()


BUILDS = {
    "class 7, an input is zeroed": (cheats.INPUT_ZEROED, "writes to its input x"),
    "class 2, state in a weight": (cheats.STATE_IN_WEIGHTS, "writes to its input w"),
    "class 8, an old output": (cheats.OLD_OUTPUT, "reads y before anything in it was written"),
}


@pytest.mark.parametrize(("text", "reason"), BUILDS.values(), ids=BUILDS.keys())
def test_the_build_refuses(evaluations: Evaluations, text: str, reason: str) -> None:
    failure: EvaluationFailure = evaluations.failure(candidates.TINY, text)
    assert failure.failure_class is FailureClass.HACK
    assert reason in failure.message
