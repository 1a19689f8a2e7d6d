from __future__ import annotations

import contextlib
import time

import pytest

from edgelab.kernel import guard
from edgelab.kernel.guard import GuardRefusal
from tests.support.programs import LOOP, program

EXPENSIVE = {
    "f-string": 'f"' + "{a!r}" * 99_000 + '"',
    "raw f-strings": program(body="\n".join(['x = Rf"{a}"'] * 30_000)),
    "statements": program(body="\n".join(["C[0]=A[0]"] * 6_500)),
    "decorators": "@a\n" * 29_000 + "class A: pass",
    "comparisons": program("<".join(["1"] * 29_000)),
    "escaped quotes": "'" * 3 + '\\"' * 249_000,
    "triple quotes": '"""a' * 120_000,
    "comments": "#\n" * 249_000,
    "spaces": " " * 499_000 + "a",
    "strings": program("T.float32(" + '"a" ' * 55_000 + ")"),
}


@pytest.mark.parametrize("text", EXPENSIVE.values(), ids=EXPENSIVE.keys())
def test_no_text_takes_long(text: str):
    began = time.perf_counter()
    with contextlib.suppress(GuardRefusal):
        guard.check(text)
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("literal", ['f"{A}"', "F'{A}'", 'rf"""{A}"""', 'fR"{A}"', 'f""'])
def test_every_spelling_of_an_f_string_is_refused_before_python_parses_it(literal: str):
    with pytest.raises(GuardRefusal, match="line 8: f-strings are not part"):
        guard.check(program(literal) + "(")


def test_an_f_in_a_string_or_a_comment_is_no_f_string():
    guard.check(program() + '# f"{a}" and it\'s \'f"x"\'\n')
    guard.check(program(body='"""Of f\'s: f"{x}"."""\n' + LOOP.format(value="A[vi]")))
