from __future__ import annotations

import hashlib

import msgspec
import pytest

from edgelab.kernel.program import KernelProgram, ProgramLevel, ProgramOrigin, TensorSpec


def test_digest_is_the_sha256_of_the_text():
    program = KernelProgram("class Module: ...", "softmax")
    assert program.digest == hashlib.sha256(b"class Module: ...").hexdigest()


def test_digest_depends_on_the_text_alone():
    candidate = KernelProgram("a", "softmax", ProgramLevel.SCHEDULE, ProgramOrigin.CANDIDATE)
    imported = KernelProgram("a", "gemv", ProgramLevel.GRAPH, ProgramOrigin.IMPORT)
    assert candidate.digest == imported.digest
    assert candidate.digest != KernelProgram("b", "softmax").digest


def test_an_edited_source_makes_another_program():
    plain = KernelProgram("a", "softmax")
    edited = KernelProgram("a", "softmax", ProgramLevel.SOURCE, source="define void @f()")
    assert edited.digest != plain.digest
    assert edited.digest != KernelProgram("a", "softmax", ProgramLevel.SOURCE, source="").digest
    assert edited.digest == KernelProgram("a", "gemv", ProgramLevel.SOURCE, source="define void @f()").digest


def test_a_program_survives_json():
    program = KernelProgram("a", "softmax", ProgramLevel.SOURCE, ProgramOrigin.IMPORT)
    assert msgspec.json.decode(msgspec.json.encode(program), type=KernelProgram) == program


def test_a_spec_reads_as_name_dtype_and_shape():
    assert str(TensorSpec("in0", (1, 3, 8, 8), "float32")) == "in0: float32[1, 3, 8, 8]"
    assert str(TensorSpec("p0", (), "int64")) == "p0: int64[]"


def test_a_negative_extent_is_refused_at_the_edge():
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"name": "in0", "shape": [-1], "dtype": "float32"}', type=TensorSpec)
