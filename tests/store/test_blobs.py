"""Blobs: content in, same content out; damage and a full disk are said."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgelab.errors import NotReadyError
from edgelab.store.blobs import BlobStore


@given(content=st.binary(max_size=5000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_content_comes_back(tmp_path, content):
    store = BlobStore(tmp_path)
    digest = store.put(content)
    assert digest == hashlib.sha256(content).hexdigest()
    assert digest in store
    assert store.get(digest) == content


def test_is_written_once(tmp_path):
    store = BlobStore(tmp_path)
    digest = store.put(b"x" * 1000)
    path = tmp_path / digest[:2] / digest
    before = path.stat().st_mtime_ns
    assert store.put(b"x" * 1000) == digest
    assert path.stat().st_mtime_ns == before


def test_absent_blob_is_a_key_error(tmp_path):
    with pytest.raises(KeyError):
        BlobStore(tmp_path).get("0" * 64)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "/x"])
def test_names_that_are_no_hashes_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="not a SHA-256"):
        BlobStore(tmp_path).get(name)


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damage_is_noticed(tmp_path, damage):
    store = BlobStore(tmp_path)
    digest, other = store.put(b"content"), store.put(b"other")
    path = tmp_path / digest[:2] / digest
    path.write_bytes((tmp_path / other[:2] / other).read_bytes() if damage is None else damage)
    with pytest.raises(ValueError, match="damaged"):
        store.get(digest)


def test_place_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(NotReadyError, match="Cannot write blob"):
        BlobStore(blocked).put(b"x")
