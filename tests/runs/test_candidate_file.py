from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgelab.errors import UsageError
from edgelab.runs import candidate_file
from edgelab.runs.candidate_file import candidate_path, read_candidate


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes("# µs\r\nx = 1\n".encode())
    assert read_candidate(path) == "# µs\r\nx = 1\n"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path, make, said: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "kernel.py"
    make(path)
    with pytest.raises(UsageError, match=said) as caught:
        read_candidate(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_file, "LARGEST_BYTES", 8)
    path = tmp_path / "kernel.py"
    path.write_text("12345678")
    assert read_candidate(path) == "12345678"
    path.write_text("123456789")
    with pytest.raises(UsageError, match="more than 8 bytes"):
        read_candidate(path)


def test_a_file_without_end_is_read_no_further_than_allowed() -> None:
    with pytest.raises(UsageError, match="more than"):
        read_candidate(Path("/dev/zero"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(UsageError, match="Permission denied"):
        read_candidate(path)


def test_typed_paths_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert candidate_path(" kernel.py ") == tmp_path / "kernel.py"
    assert candidate_path("~/kernel.py") == tmp_path / "kernel.py"


@pytest.mark.parametrize("typed", ["", "  ", "/dev/zero", "/tmp", "~nobody-of-this-name/x"])
def test_typed_text_that_names_no_file_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match=r"UTF-8 text file"):
        candidate_path(typed)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(UsageError, match="null byte"):
        read_candidate(candidate_path("a\0b"))


def test_a_pipe_is_refused_before_it_can_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="no regular file"):
        candidate_path(str(tmp_path / "pipe"))
