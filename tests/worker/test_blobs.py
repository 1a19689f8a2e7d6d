from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import numpy as np
import pytest

from edgelab.worker.blobs import BlobFolder
from edgelab.worker.failures import WorkerFailure


def store(folder: Path, content: bytes) -> str:
    sha = hashlib.sha256(content).hexdigest()
    (folder / sha).write_bytes(content)
    return sha


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def test_a_blob_is_read_from_its_start(tmp_path: Path):
    blobs = BlobFolder(tmp_path)
    sha = store(tmp_path, b"content")
    for _ in range(2):
        with os.fdopen(blobs.open(sha), "rb") as file:
            assert file.read() == b"content"


@pytest.mark.parametrize(
    "sha", ["../etc/passwd", "/etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "\n", 5, None]
)
def test_what_is_no_hash_is_refused(tmp_path: Path, sha: object):
    with pytest.raises(WorkerFailure, match="not a SHA-256") as caught:
        BlobFolder(tmp_path).open(sha)
    assert caught.value.failure_class == "infrastructure"


def test_damaged_content_is_refused_also_after_it_was_verified(tmp_path: Path):
    blobs = BlobFolder(tmp_path)
    sha = store(tmp_path, b"content")
    os.close(blobs.open(sha))
    (tmp_path / sha).write_bytes(b"damaged")
    os.utime(tmp_path / sha, ns=(1, 1))
    with pytest.raises(WorkerFailure, match="damaged"):
        blobs.open(sha)


def test_a_verified_blob_is_not_hashed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blobs = BlobFolder(tmp_path)
    sha = store(tmp_path, b"content")
    os.close(blobs.open(sha))
    monkeypatch.setattr(hashlib, "sha256", lambda: pytest.fail("hashed again"))
    os.close(blobs.open(sha))


def test_links_are_not_followed(tmp_path: Path):
    sha = store(tmp_path, b"content")
    (tmp_path / sha).rename(tmp_path / "elsewhere")
    (tmp_path / sha).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkerFailure, match="cannot be opened"):
        BlobFolder(tmp_path).open(sha)


def test_arrays_come_in_the_order_of_their_numbers(tmp_path: Path):
    arrays = {f"in{i}": np.asfortranarray(np.full((2, 2), i)) for i in range(12)}
    read = BlobFolder(tmp_path).arrays(store(tmp_path, npz(**arrays)), "in")
    assert [int(array[0, 0]) for array in read] == list(range(12))
    assert all(array.flags.c_contiguous for array in read)


@pytest.mark.parametrize(
    "content",
    [
        b"no archive",
        b"",
        npz(out0=np.zeros(1)),
        npz(in1=np.zeros(1)),
        npz(in0=np.array([{"a": 1}], dtype=object)),
    ],
)
def test_other_archives_are_refused(tmp_path: Path, content: bytes):
    with pytest.raises(WorkerFailure, match="cannot be read as arrays"):
        BlobFolder(tmp_path).arrays(store(tmp_path, content), "in")


def test_a_bare_array_is_refused(tmp_path: Path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    with pytest.raises(WorkerFailure, match="cannot be read as arrays"):
        BlobFolder(tmp_path).arrays(store(tmp_path, buffer.getvalue()), "in")
