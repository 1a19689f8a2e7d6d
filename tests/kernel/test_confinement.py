from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no system call filter here"),
]


def confined(code: str, memory_limit_bytes: int = 2 * 2**30) -> subprocess.CompletedProcess[str]:
    """Run `code` in a confined Python process."""
    prelude = (
        "import os, socket, ctypes, subprocess\n"
        "from edgelab.kernel.confinement import confine\n"
        f"confine({memory_limit_bytes}, os.getppid())\n"
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "code",
    [
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
        "assert ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0) == -1; raise OSError(ctypes.get_errno(), 'x')",
        "assert ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == -1; raise OSError(ctypes.get_errno(), 'x')",
    ],
    ids=["internet", "unix", "ptrace", "unshare"],
)
def test_a_forbidden_call_is_refused(code: str):
    done = confined(code)
    assert done.returncode == 1
    assert "PermissionError" in done.stderr


def test_a_child_process_inherits_the_filter():
    code = (
        "subprocess.run([__import__('sys').executable, '-c', 'import socket; socket.socket()'], check=True)"
    )
    assert "CalledProcessError" in confined(code).stderr


def test_files_and_processes_still_work():
    assert confined("subprocess.run(['true'], check=True); open('/dev/null').read()").returncode == 0


def test_memory_is_limited():
    assert "MemoryError" in confined("bytearray(4 * 2**30)").stderr


def test_a_process_whose_parent_is_gone_ends():
    done = subprocess.run(
        [sys.executable, "-c", "from edgelab.kernel.confinement import confine; confine(2**30, 1 << 30); print('on')"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "on" not in done.stdout
