from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from edgelab.drivers import local_files
from edgelab.drivers.local_files import read_some, store_blob, write_file


@pytest.mark.parametrize("as_path", [False, True])
def test_blob_is_named_by_its_content_and_the_folder_is_closed(tmp_path: Path, as_path: bool):
    source = tmp_path / "source"
    source.write_bytes(b"content")
    folder = tmp_path / "blobs"
    sha = store_blob(folder, source if as_path else b"content")
    assert sha == hashlib.sha256(b"content").hexdigest()
    assert (folder / sha).read_bytes() == b"content"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.iterdir()] == [sha]


def test_blob_that_is_there_is_kept_and_a_damaged_one_replaced(tmp_path: Path):
    sha = store_blob(tmp_path, b"content")
    inode = (tmp_path / sha).stat().st_ino
    store_blob(tmp_path, b"content")
    assert (tmp_path / sha).stat().st_ino == inode
    (tmp_path / sha).write_bytes(b"damaged")
    store_blob(tmp_path, b"content")
    assert (tmp_path / sha).read_bytes() == b"content"
    assert (tmp_path / sha).stat().st_ino != inode


def test_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(fd: int, mode: str):
        os.close(fd)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(local_files.os, "fdopen", full)
    with pytest.raises(OSError, match="No space left"):
        store_blob(tmp_path, b"content")
    assert list(tmp_path.iterdir()) == []


def test_missing_files_are_none(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"1")
    paths = (str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path))
    assert read_some(paths) == {paths[0]: b"1", paths[1]: None, paths[2]: None}


def test_file_is_replaced_whole(tmp_path: Path):
    path = tmp_path / "file"
    write_file(path, b"long content")
    write_file(path, b"short")
    assert path.read_bytes() == b"short"
    assert list(tmp_path.iterdir()) == [path]
