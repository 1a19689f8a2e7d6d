"""The fork builder: what one candidate does to its compiler is that candidate's result alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from edgelab.kernel.tuning.builder import ForkBuilder

pytestmark = pytest.mark.integration


def compile_text(candidate: str, library: Path) -> None:
    if candidate == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if candidate == "exit":
        os._exit(3)
    if candidate == "hang":
        signal.pause()
    if candidate == "raise":
        raise ValueError("no such schedule")
    library.write_text(f"library of {candidate}")


def builder(folder: Path, *, workers: int = 2, limit_s: float = 30.0) -> ForkBuilder:
    return ForkBuilder(compile_text, folder, workers=workers, limit_s=limit_s, memory_limit_bytes=8 << 30)


def libraries(bundle) -> list[str | None]:
    content = Path(bundle.path).read_bytes()
    return [
        None if place is None else content[place[0] : place[0] + place[1]].decode() for place in bundle.places
    ]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_library_lies_at_its_place(tmp_path, workers):
    names = [f"c{number}" for number in range(7)]
    bundle = builder(tmp_path, workers=workers).build(names)
    assert libraries(bundle) == [f"library of {name}" for name in names]
    assert bundle.errors == ("",) * 7
    assert list(tmp_path.iterdir()) == [Path(bundle.path)]


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_crashes_fails_alone(tmp_path, workers):
    bundle = builder(tmp_path, workers=workers).build(["a", "crash", "b", "exit", "raise", "c"])
    assert libraries(bundle) == ["library of a", None, "library of b", None, None, "library of c"]
    assert "SIGSEGV" in bundle.errors[1]
    assert "exit status 3" in bundle.errors[3]
    assert bundle.errors[4] == "ValueError: no such schedule"


def test_one_that_hangs_is_stopped_at_the_limit(tmp_path):
    bundle = builder(tmp_path, limit_s=0.5).build(["a", "hang", "b"])
    assert libraries(bundle) == ["library of a", None, "library of b"]
    assert "longer than 0.5 s" in bundle.errors[1]


def test_all_may_fail(tmp_path):
    bundle = builder(tmp_path).build(["crash"] * 5)
    assert bundle.places == (None,) * 5
    assert all("SIGSEGV" in error for error in bundle.errors)


def test_an_empty_batch_is_an_empty_bundle(tmp_path):
    bundle = builder(tmp_path).build([])
    assert (bundle.places, bundle.errors) == ((), ())


def test_nothing_is_left_behind(tmp_path):
    builder(tmp_path, limit_s=0.5).build(["a", "hang", "crash"])
    assert not [child for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]


def test_bundles_of_one_builder_do_not_overwrite_each_other(tmp_path):
    one = builder(tmp_path)
    first, second = one.build(["a"]), one.build(["b"])
    assert libraries(first) == ["library of a"]
    assert libraries(second) == ["library of b"]
