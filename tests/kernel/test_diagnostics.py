from __future__ import annotations

import pytest

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import diagnostics

TEXT = "first\nsecond\n    C[vi] = A[vj]\n"


class DiagnosticError(RuntimeError):
    """Named like TVM's."""


class InternalError(RuntimeError):
    """Named like TVM's."""


def test_a_parser_error_gives_line_column_reason_and_source():
    error = DiagnosticError(
        "error: Undefined variable: vj\n --> <str>:3:13\n   |  \n 3 |      C[vi] = A[vj]\n   |      ^^^^"
    )
    failure = diagnostics.explain(error, TEXT, "parse")
    assert failure.failure_class is FailureClass.SYNTAX_API
    assert failure.message == "line 3, column 13: Undefined variable: vj, in: C[vi] = A[vj]"
    assert "<str>:3:13" in failure.detail


def test_the_condition_of_a_cpp_check_is_left_out():
    error = InternalError(
        "Check failed: buffer->shape.size() == indices.size() (1 vs. 2) : BufferVar C is 1-dimensional.\n"
        " --> <str>:3:5\n"
    )
    assert (
        diagnostics.explain(error, TEXT, "parse").message
        == "line 3, column 5: BufferVar C is 1-dimensional, in: C[vi] = A[vj]"
    )


def test_a_pass_error_keeps_its_first_sentence_and_not_the_module():
    error = InternalError(
        "Check failed: (x) is false: VectorizeLoop before LiftStorageAlloc\n\nError in pass: _pipeline\n"
        "# from tvm.script import ir as I\n@I.ir_module\nclass Module:\n"
    )
    failure = diagnostics.explain(error, TEXT, "build")
    assert failure.message.endswith("during build: VectorizeLoop before LiftStorageAlloc")
    assert "class Module" not in failure.message
    assert "class Module" in failure.detail


def test_an_operator_is_named_without_its_dump():
    error = DiagnosticError(
        'error: In ir.Op(span=None, name="relax.add", arguments=(), support_level=10), shapes differ.\n --> <str>:1:1'
    )
    assert "In relax.add, shapes differ" in diagnostics.explain(error, TEXT, "parse").message


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InternalError("Unknown threadscope foo.x"), FailureClass.PARALLEL),
        (InternalError("Cannot bind to threadIdx.x"), FailureClass.PARALLEL),
        (MemoryError(), FailureClass.MEMORY),
        (InternalError("std::bad_alloc"), FailureClass.MEMORY),
        (InternalError("not implemented"), FailureClass.SYNTAX_API),
        (InternalError(""), FailureClass.SYNTAX_API),
    ],
)
def test_the_class_follows_the_reason(error: Exception, expected: FailureClass):
    assert diagnostics.explain(error, TEXT, "build").failure_class is expected


def test_an_error_without_a_message_still_says_what_it_was():
    assert "InternalError" in diagnostics.explain(InternalError(""), TEXT, "lower").message


def test_a_failure_passes_unchanged():
    failure = EvaluationFailure(FailureClass.HACK, "x")
    assert diagnostics.explain(failure, TEXT, "parse") is failure


def test_a_line_outside_the_text_is_still_named():
    assert diagnostics.located("one line", 9, "wrong") == "line 9: wrong"


def test_a_long_detail_is_cut_and_says_so():
    cut = diagnostics.clip("x" * 100_000)
    assert len(cut) < 10_000
    assert cut.endswith("[...]")


def test_a_crash_names_signal_and_phase():
    failure = diagnostics.crashed("SIGSEGV", "lower", "some stderr")
    assert failure.failure_class is FailureClass.CRASH
    assert failure.message == "the compiler crashed with SIGSEGV during lower"
    assert failure.detail == "some stderr"


def test_an_abort_for_want_of_memory_is_a_memory_failure():
    failure = diagnostics.crashed("SIGABRT", "build", "terminate called after throwing 'std::bad_alloc'")
    assert failure.failure_class is FailureClass.MEMORY


@pytest.mark.parametrize(
    "character", ["\x1b", "\x07", "\x00", "\x7f", "\x9b", "\r", "\u202e", "\u2066", "\u2028"]
)
def test_what_steers_a_terminal_is_written_out(character: str):
    text = f"good\nbad {character}]0;title\n"
    shown = [
        diagnostics.located(text, 2, f"reason {character}"),
        diagnostics.clip(f"detail {character}\nsecond"),
        diagnostics.explain(InternalError(f"odd {character} name"), text, "build").message,
        diagnostics.crashed("SIGSEGV", "lower", f"noise {character}").detail,
    ]
    for message in shown:
        assert character not in message
    assert "\nsecond" in shown[1]
