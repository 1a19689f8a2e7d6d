from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from edgelab.drivers.worker_archive import archive_bytes, build_archive


def test_same_sources_give_the_same_bytes_whatever_their_dates(tmp_path: Path):
    first = archive_bytes()
    for name in ("b.py", "a.py", "__init__.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    before = archive_bytes(tmp_path)
    os.utime(tmp_path / "a.py", (1, 1))
    assert archive_bytes(tmp_path) == before != first
    (tmp_path / "a.py").write_text("# changed\n")
    assert archive_bytes(tmp_path) != before


def test_archive_is_named_by_its_content_and_written_once(tmp_path: Path):
    path = build_archive(tmp_path)
    written_ns = path.stat().st_mtime_ns
    assert build_archive(tmp_path) == path
    assert path.stat().st_mtime_ns == written_ns
    assert path.read_bytes() == archive_bytes()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_truncated_archive_is_written_again(tmp_path: Path):
    path = build_archive(tmp_path)
    path.write_bytes(b"")
    assert build_archive(tmp_path).read_bytes() == archive_bytes()


def test_it_holds_the_worker_alone(tmp_path: Path):
    with zipfile.ZipFile(build_archive(tmp_path)) as archive:
        names = archive.namelist()
    assert names == sorted(names)
    assert all(
        name.startswith("edgelab/worker/")
        for name in names
        if name not in ("__main__.py", "edgelab/__init__.py")
    )


@pytest.mark.integration
def test_it_runs_from_anywhere(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-I", str(build_archive(tmp_path)), "--blobs", str(tmp_path)],
        input=b'{"id":1,"op":"sample"}\n',
        capture_output=True,
        timeout=60,
        cwd="/",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"event":"done"' in done.stdout
