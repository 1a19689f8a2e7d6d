"""Level 2 on the command line: a program's target source is written, edited, and judged in the program's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.kernel.opencl import presence
from tests.support.candidates import GOOD, TINY
from tests.support.cli import Cli

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BACKENDS = ["llvm", pytest.param("opencl", marks=pytest.mark.skipif(
    presence.missing() is not None, reason=f"needs {presence.missing()}"))]  # fmt: skip

CHANGES = {
    "llvm": ("fmul ", "fadd "),
    "opencl": (" * ", " + "),
}
"""What turns the multiplication by the weight into something else."""


@pytest.fixture
def edgelab(tmp_path: Path) -> Cli:
    """The command line on a home of its own."""
    return Cli(tmp_path / "home")


def written(edgelab: Cli, folder: Path, backend: str, *more: str) -> Path:
    path = folder / f"source-{backend}"
    done = edgelab("tasks", "source", str(TINY), "--backend", backend, "--output", str(path), *more)
    assert done.returncode == 0, done.stderr
    assert f"--backend {backend}" in done.stderr
    return path


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_edit_runs_in_the_place_of_the_source(edgelab: Cli, tmp_path: Path, backend: str):
    path = written(edgelab, tmp_path, backend)
    source = path.read_text()
    before, after = CHANGES[backend]
    head, found, tail = source.rpartition(before)
    assert found, source
    path.write_text(head + after + tail)
    status, other = edgelab.run_json(str(TINY), "--backend", backend, "--source", str(path))
    assert (status, other["failure"]["class"], other["compiled"]) == (1, "numeric", True), other
    assert other["backend"] == backend
    assert other["candidate_program"] != other["baseline"]["program"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_with_another_interface_is_refused(edgelab: Cli, tmp_path: Path, backend: str):
    path = written(edgelab, tmp_path, backend)
    source = path.read_text()
    if backend == "llvm":
        edited = "\n".join(
            line.replace("(ptr", "(i32 %extra, ptr", 1) if line.startswith("define") else line
            for line in source.splitlines()
        )
    else:
        edited = source.replace("(__global", "(__global float* extra, __global")
    assert edited != source
    path.write_text(edited)
    status, refused = edgelab.run_json(str(TINY), "--backend", backend, "--source", str(path))
    assert (status, refused["compiled"]) == (1, False), refused
    assert refused["failure"]["class"] == "syntax_api"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_calls_out_is_a_hack(edgelab: Cli, tmp_path: Path, backend: str):
    path = written(edgelab, tmp_path, backend)
    call = "declare i32 @system(ptr)\n" if backend == "llvm" else "#include </etc/passwd>\n"
    path.write_text(path.read_text() + call)
    status, refused = edgelab.run_json(str(TINY), "--backend", backend, "--source", str(path))
    assert (status, refused["failure"]["class"]) == (1, "hack"), refused


def test_the_source_of_a_candidate_belongs_to_it(edgelab: Cli, tmp_path: Path):
    candidate = tmp_path / "candidate.py"
    candidate.write_text(GOOD)
    path = written(edgelab, tmp_path, "llvm", "--candidate", str(candidate))
    status, judged = edgelab.run_json(str(TINY), "--candidate", str(candidate), "--source", str(path))
    assert judged["correct"], judged
    status, refused = edgelab.run_json(str(TINY), "--source", str(path))
    assert (status, refused["compiled"]) == (1, False), "the task's own import has other kernels"


def test_a_file_that_is_there_is_kept(edgelab: Cli, tmp_path: Path):
    path = tmp_path / "mine.ll"
    path.write_text("mine")
    done = edgelab("tasks", "source", str(TINY), "--output", str(path))
    assert done.returncode == 2
    assert path.read_text() == "mine"
