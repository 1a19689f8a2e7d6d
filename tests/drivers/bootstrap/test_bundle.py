"""What of the packages a worker runtime keeps, and which boards can have one."""

from __future__ import annotations

import struct

import msgspec
import pytest

from edgelab.drivers.bootstrap.board_python import BoardPython, shortcoming
from edgelab.drivers.bootstrap.runtime_bundle import archive, build_bundle, is_kept
from edgelab.drivers.bootstrap.wheels import download, fits_this_machine
from edgelab.errors import NotReadyError

PYTHON = BoardPython(
    executable="python3", version=(3, 11), machine="aarch64", libc="glibc", free_bytes=1 << 33
)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("tvm/lib/libtvm_runtime.so", True),
        ("tvm/lib/libtvm_compiler.so", False),
        ("tvm/lib/libtvm_runtime_cuda.so", False),
        ("tvm_ffi/lib/libtvm_ffi.so", True),
        ("tvm_ffi/core.cpython-311-x86_64-linux-gnu.so", True),
        ("tvm/runtime/vm.py", True),
        ("tvm/relax/op/nn.py", False),
        ("tvm/include/tvm/runtime/base.h", False),
        ("numpy/_core/_multiarray_umath.so", True),
        ("numpy/_core/tests/test_umath.py", False),
        ("numpy/testing/__init__.py", True),
        ("numpy-2.1.dist-info/METADATA", False),
        ("typing_extensions.py", True),
    ],
)
def test_the_cut(path: str, kept: bool):
    assert is_kept(path) is kept


def test_an_archive_of_the_same_files_is_the_same():
    files = [("a.py", b"1"), ("b/c.py", b"2" * 5000)]
    assert archive(files) == archive(list(files))
    assert archive(files) != archive(files[:1])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"version": (3, 8)}, "3.8"),
        ({"libc": "android"}, "not glibc"),
        ({"machine": "armv7l"}, "no TVM for armv7l"),
        ({"venv": False}, "python3-venv"),
        ({"gil": False}, "interpreter lock"),
    ],
)
def test_boards_that_cannot_have_one(changes, said):
    found = shortcoming(msgspec.structs.replace(PYTHON, **changes))
    assert said in found
    assert bool(found) is bool(said)


@pytest.mark.slow
@pytest.mark.integration
def test_a_bundle_for_another_machine_comes_from_its_wheels(tmp_path):
    """Cut for aarch64 and looked at; it cannot be run here."""
    assert not fits_this_machine(PYTHON)
    try:
        download(PYTHON, tmp_path)
    except NotReadyError as error:
        pytest.skip(f"no wheels to be had here: {error}")
    bundle = build_bundle(PYTHON, tmp_path)
    assert bundle.library_bytes < 8 << 20
    import tarfile

    with tarfile.open(bundle.path) as tar:
        library = tar.extractfile("tvm/lib/libtvm_runtime.so")
        assert library is not None
        head = library.read(20)
    assert head[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", head, 18)[0] == 183, "EM_AARCH64"
    assert build_bundle(PYTHON, tmp_path) == bundle
