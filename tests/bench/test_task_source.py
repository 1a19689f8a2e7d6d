from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.bench.task_source import constants_of, read_source, with_constants
from edgelab.errors import TaskError

HERE = Path("suite/level1/x/toy.py")
TEXT = '''"""ünïcode"""
SIZE = 4
DOUBLE = 2 * SIZE
NAME, OTHER = "ä", 1.5
RATE = 0.5
SHAPE = [
    1,
    2,
]
lower = 3


def f():
    return SIZE
'''


def run(text: str) -> dict:
    namespace: dict = {}
    exec(text, namespace)
    return namespace


def test_constants_are_upper_case_literals_of_the_top_level():
    assert {n: c.value for n, c in constants_of(TEXT, HERE).items()} == {
        "SIZE": 4,
        "RATE": 0.5,
        "SHAPE": [1, 2],
    }


def test_constants_that_are_computed_follow():
    assert run(with_constants(TEXT, {"SIZE": 10}, HERE))["DOUBLE"] == 20


def test_lines_keep_their_numbers():
    changed = with_constants(TEXT, {"SHAPE": [7], "SIZE": 1}, HERE).splitlines()
    assert len(changed) == len(TEXT.splitlines())
    assert changed.index("lower = 3") == TEXT.splitlines().index("lower = 3")
    assert run("\n".join(changed))["SHAPE"] == [7]


def test_bytes_before_a_constant_do_not_shift_it():
    text = 'A = "ä"; SIZE = 4  # größe\n'
    assert with_constants(text, {"SIZE": 5}, HERE) == 'A = "ä"; SIZE = 5  # größe\n'


def test_text_without_changes_is_the_same():
    assert with_constants(TEXT, {}, HERE) == TEXT


def test_unknown_constant_names_the_file_and_what_there_is():
    with pytest.raises(
        TaskError, match=r"constant WIDTH is not in suite/level1/x/toy\.py.*RATE, SHAPE, SIZE"
    ):
        with_constants(TEXT, {"WIDTH": 1}, HERE)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"SIZE": "4"}, "SIZE is of kind string, but of kind integer"),
        ({"SIZE": 4.5}, "SIZE is of kind number, but of kind integer"),
        ({"SIZE": True}, "SIZE is of kind boolean, but of kind integer"),
        ({"SHAPE": 3}, "SHAPE is of kind integer, but of kind list"),
    ],
)
def test_constant_of_another_kind_is_refused(constants: dict, message: str):
    with pytest.raises(TaskError, match=message):
        with_constants(TEXT, constants, HERE)


def test_integer_may_stand_for_a_number():
    assert run(with_constants(TEXT, {"RATE": 2}, HERE))["RATE"] == 2


def test_syntax_error_names_file_and_line():
    with pytest.raises(TaskError, match=r"toy\.py, line 2"):
        constants_of("A = 1\nB = = 2\n", HERE)


def test_missing_file_is_named(tmp_path: Path):
    with pytest.raises(TaskError, match=r"absent\.py cannot be read: No such file"):
        read_source(tmp_path / "absent.py")


def test_file_that_is_not_text_is_named(tmp_path: Path):
    (tmp_path / "bin.py").write_bytes(b"A = 1\n\xff\xfe")
    with pytest.raises(TaskError, match=r"bin\.py is not UTF-8 text"):
        read_source(tmp_path / "bin.py")


@given(
    st.dictionaries(
        st.sampled_from(["SIZE", "SHAPE", "TEXT"]),
        st.none(),
    ),
    st.integers(),
    st.lists(st.integers(), max_size=5),
    st.text(max_size=20),
)
def test_replaced_values_are_read_back(chosen: dict, size: int, shape: list, text: str):
    module = 'TEXT = "a"\nSIZE = 1\nSHAPE = [\n  1,\n]\nEND = 1\n'
    values = {k: v for k, v in {"SIZE": size, "SHAPE": shape, "TEXT": text}.items() if k in chosen}
    namespace = run(with_constants(module, values, HERE))
    assert {name: namespace[name] for name in values} == values
    assert namespace["END"] == 1
